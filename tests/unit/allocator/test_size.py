"""A decision that the log would never take is refused, and stops nobody else."""

import msgspec
from cluster import Story, a_claim, a_class, a_node, a_pod, a_pool, given, refused
from msgspec.structs import replace

from dra_shared.events.allocations import Refusal
from dra_shared.events.claims import ClaimRequested
from dra_shared.events.fact import MOST_BYTES
from dra_shared.kube.claims import DeviceClaimConfiguration, OpaqueDeviceConfiguration


def configured(name: str, *, configurations: int, size: int) -> ClaimRequested:
    """A claim of one device with so many configurations of about so many bytes each."""
    claim = a_claim(name)
    one = DeviceClaimConfiguration(
        opaque=OpaqueDeviceConfiguration(driver="dev.lab.example", parameters={"x": "y" * size})
    )
    devices = replace(claim.spec.devices, config=(one,) * configurations)
    return replace(claim, spec=replace(claim.spec, devices=devices))


def test_a_pod_with_too_large_configurations_is_told_and_the_others_are_placed() -> None:
    large = [configured(f"c{number}", configurations=32, size=9_000) for number in range(4)]
    story = Story().tell(
        a_class(),
        a_node("n1"),
        a_pool("n1", [f"d{number}" for number in range(8)]),
        *large,
        a_pod("large", *(one.claim.name for one in large)),
        a_claim("small"),
        a_pod("modest", "small"),
    )
    facts = story.decide()
    assert set(given(facts)) == {"small"}
    no = refused(facts)["large"]
    assert no.refusal is Refusal.INVALID
    assert f"at most {MOST_BYTES}" in no.summary
    assert all(len(msgspec.json.encode(fact)) <= MOST_BYTES for fact in facts)


def test_large_configurations_are_no_obstacle_as_long_as_they_fit() -> None:
    story = Story().tell(
        a_class(),
        a_node("n1"),
        a_pool("n1", ["d0"]),
        configured("c", configurations=32, size=9_000),
        a_pod("p", "c"),
    )
    assert set(given(story.decide())) == {"c"}
