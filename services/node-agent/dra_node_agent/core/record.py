"""What the ledger holds about one claim at one driver, and the answers made from it."""

import msgspec

from dra_node_agent.core.lifecycle import Phase, Step, next_phase
from dra_shared.ids import ObjectRef


class PlannedDevice(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One device of a claim with all that a container will see of it.

    `identity` is the serial or bus id, `requests` the claim's requests without alternatives'
    names, `env` lines `NAME=value`, `device_nodes` paths on the host.
    """

    requests: tuple[str, ...]
    pool: str
    device: str
    identity: str
    share_id: str | None = None
    admin: bool = False
    env: tuple[str, ...] = ()
    device_nodes: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, str, str | None]:
        """Tells this device or share apart from all others of the driver."""
        return (self.pool, self.device, self.share_id)


class ClaimRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A claim at one driver: where it is in its life, since which boot, with which devices."""

    claim: ObjectRef
    driver: str
    boot_id: str
    phase: Phase
    devices: tuple[PlannedDevice, ...]

    def after(self, step: Step, boot_id: str) -> "ClaimRecord":
        """The record once the step is taken in this boot; raises IllegalStepError."""
        phase = next_phase(self.phase, step)
        return msgspec.structs.replace(self, phase=phase, boot_id=boot_id)


class Refused(msgspec.Struct, frozen=True, kw_only=True):
    """Why a claim cannot be prepared or undone now; permanent: it will never be as it is."""

    cause: str
    permanent: bool = False
    device: str | None = None

    def __str__(self) -> str:
        """What the kubelet is told."""
        return f"permanent: {self.cause}" if self.permanent else f"{self.cause}; try again"
