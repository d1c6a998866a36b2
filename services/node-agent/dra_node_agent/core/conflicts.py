"""The last line of defence: no device for two claims, whatever the log said.

The allocator prevents it; a deleted pod whose containers still run, or two allocators at once,
can still lead here. The node is where it must stop (kubernetes#141471).
"""

from collections.abc import Iterable

from dra_node_agent.core.lifecycle import Phase
from dra_node_agent.core.record import ClaimRecord, PlannedDevice, Refused


def conflict(wanted: ClaimRecord, others: Iterable[ClaimRecord]) -> Refused | None:
    """Names the first device that another claim still holds; None when all are free to take.

    Two claims may hold one device when both hold shares of it, or when one is admin access.
    """
    for other in others:
        if other.phase is Phase.GONE or other.claim.uid == wanted.claim.uid:
            continue
        for device in wanted.devices:
            if any(_excludes(device, held) for held in other.devices):
                return Refused(
                    cause=f"claim {other.claim} (uid {other.claim.uid}, {other.phase}) still holds "
                    f"device {device.device}; it is free once the kubelet has unprepared that claim",
                    device=device.device,
                )
    return None


def _excludes(wanted: PlannedDevice, held: PlannedDevice) -> bool:
    same_name = (wanted.pool, wanted.device) == (held.pool, held.device)
    if not same_name and wanted.identity != held.identity:
        return False
    if wanted.admin or held.admin:
        return False
    return wanted.share_id is None or held.share_id is None or wanted.share_id == held.share_id
