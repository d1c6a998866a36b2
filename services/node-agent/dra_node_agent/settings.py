"""What the agent can be told, all from the environment. `--help` prints this."""

from typing import Annotated

from msgspec import Meta

from dra_node_agent.core.plan import Driver
from dra_node_agent.core.profiles.catalog import PROFILES, driver_name
from dra_node_agent.core.profiles.profile import Sizes
from dra_shared.runtime.settings import Settings, SettingsError


class AgentSettings(Settings, frozen=True, kw_only=True):
    """Settings of a node agent. The sizes have the names that the public example driver uses."""

    node_name: Annotated[str, Meta(min_length=1, description="the Kubernetes node it runs on")]
    dra_profiles: Annotated[
        str, Meta(description="kinds of devices to offer, of gpu, net and cpu, with commas")
    ] = "gpu"
    state_dir: Annotated[
        str, Meta(description="the ledger; must outlive the process, on a local disk")
    ] = "/var/lib/dra-ledger"
    cdi_root: Annotated[
        str, Meta(description="where the container runtime looks for CDI specs")
    ] = "/var/run/cdi"
    kubelet_registrar_directory_path: Annotated[
        str, Meta(description="where the kubelet looks for plugins")
    ] = "/var/lib/kubelet/plugins_registry"
    kubelet_plugins_directory_path: Annotated[
        str, Meta(description="where plugins keep their sockets, at the kubelet's own path")
    ] = "/var/lib/kubelet/plugins"
    pod_uid: Annotated[
        str, Meta(description="uid of the agent's pod: gives it socket names for rolling updates")
    ] = ""
    boot_id_file: Annotated[
        str, Meta(description="its content changes at each boot, when set-ups are lost")
    ] = "/proc/sys/kernel/random/boot_id"
    num_devices: Annotated[int, Meta(ge=0, description="simulated GPUs and NICs, each")] = 8
    gpu_partitions: Annotated[
        int, Meta(ge=0, le=80, description="parts that each GPU is cut into; 0: whole GPUs")
    ] = 0
    gpu_allow_multiple_allocations: Annotated[
        bool, Meta(description="GPUs may be shared by claims")
    ] = False
    cpu_numa_nodes: Annotated[int, Meta(ge=0, description="simulated NUMA nodes")] = 8
    cpus_per_numa_node: Annotated[int, Meta(ge=1, description="CPUs of each")] = 4
    inventory_file: Annotated[
        str,
        Meta(description="JSON file with the devices, instead of simulated sizes; read again"),
    ] = ""
    scan_seconds: Annotated[float, Meta(gt=0, le=5, description="between looks at the devices")] = (
        2.0
    )
    allocation_seconds: Annotated[
        float, Meta(ge=0, description="to wait for a claim's allocation from the log")
    ] = 3.0
    effect_seconds: Annotated[
        float, Meta(gt=0, description="that setting up or undoing one claim may take")
    ] = 120.0
    answer_seconds: Annotated[
        float, Meta(gt=0, description="after which the kubelet is told to ask again")
    ] = 40.0
    faults_file: Annotated[
        str, Meta(description="for tests only: JSON file with faults that are on")
    ] = ""

    def drivers(self) -> tuple[Driver, ...]:
        """The drivers to serve; raises SettingsError for a profile that there is not."""
        names = [name.strip() for name in self.dra_profiles.split(",") if name.strip()]
        unknown = [name for name in names if name not in PROFILES]
        if unknown or not names:
            message = (
                f"DRA_PROFILES={self.dra_profiles!r}: "
                f"choose among {', '.join(PROFILES)}, at least one"
            )
            raise SettingsError(message)
        profiles = (PROFILES[name] for name in dict.fromkeys(names))
        return tuple(Driver(name=driver_name(p), profile=p) for p in profiles)

    def sizes(self) -> Sizes:
        """How much hardware to simulate."""
        return Sizes(
            devices=self.num_devices,
            gpu_partitions=self.gpu_partitions,
            gpu_multiple_allocations=self.gpu_allow_multiple_allocations,
            numa_nodes=self.cpu_numa_nodes,
            cpus_per_numa_node=self.cpus_per_numa_node,
        )
