"""What the agent counts. Names only; whoever knows the number sets it."""

from typing import Final

from prometheus_client import Counter, Gauge, Histogram

CALLS: Final = Histogram(
    "dra_node_agent_call_seconds",
    "How long the kubelet waited for one claim, by what became of it",
    ["driver", "call", "outcome"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
REFUSALS: Final = Counter(
    "dra_node_agent_refusals_total",
    "Claims not prepared or not undone when asked",
    ["driver", "call", "permanent"],
)
CLAIMS: Final = Gauge("dra_node_agent_claims", "Claims that hold devices", ["driver", "phase"])
DEVICES: Final = Gauge("dra_node_agent_devices", "Devices found", ["driver"])
TOO_LARGE: Final = Gauge(
    "dra_node_agent_report_too_large",
    "1: the driver's devices fit into no event, and the log is not told of them",
    ["driver"],
)
LEFT_OUT: Final = Counter(
    "dra_node_agent_facts_left_out_total", "Facts that the log would never have taken"
)
SCAN_FAILURES: Final = Counter(
    "dra_node_agent_scan_failures_total", "Looks at the devices that failed", ["driver"]
)
