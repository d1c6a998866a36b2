"""Theme C, row 47, on a real NATS server with a real allocator that is strict about cards."""

import json
from pathlib import Path

import msgspec
import pytest
import yaml
from lab import Object, a_claim, a_class, a_device, a_request, a_slice
from unit.cli.ledger import dra
from world import World, a_world

pytestmark = pytest.mark.timeout(120)

BUS_ID = "resource.kubernetes.io/pciBusID"
THROUGH = "its card, through drv-a"
OF_B = a_request(select='device.driver == "drv-b"')


def a_card(name: str, bus_id: str) -> Object:
    return a_device(name, attributes={BUS_ID: bus_id})


def cluster() -> tuple[Object, ...]:
    """d0 and e0 are one card, e1 is another."""
    return (
        a_class("any", "true"),
        a_slice("n1", [a_card("d0", "0000:41:00.0")], driver="drv-a"),
        a_slice("n1", [a_card("e0", "0000:41:00.0"), a_card("e1", "0000:42:00.0")], driver="drv-b"),
    )


def try_on(world: World, folder: Path, claim: Object) -> list[Object]:
    """The reasons that the command gives for a claim that is not there yet."""
    path = folder / "claim.yaml"
    path.write_text(yaml.safe_dump(claim))
    said = dra("allocate", "-f", str(path), "--nats", world.url, "--explain")
    (answer,) = json.loads(said.stdout)
    reasons: list[Object] = answer["reasons"]
    return reasons


def test_row_47_who_holds_one_side_of_a_card_holds_the_other(tmp_path: Path) -> None:
    with a_world(tmp_path / "nats", STRICT_CARDS="true") as world:
        world.apply(*cluster(), a_claim("c1"))
        got = world.given("c1")
        assert [one.device for one in got.allocation.devices.results or ()] == ["d0"]
        world.apply(a_claim("c2", OF_B))
        assert world.given("c2").costs[0].device.device == "e1"
        foreseen = try_on(world, tmp_path, a_claim("c3", OF_B))
        world.apply(a_claim("c3", OF_B))
        refused = world.refusal("c3")
        assert [msgspec.to_builtins(one) for one in refused.reasons] == foreseen
        assert ("in_use", THROUGH, 1) in [
            (one.kind, one.detail, one.devices) for one in refused.reasons
        ]
        assert f"1 in use ({THROUGH})" in refused.summary
        told = dra("explain", "claim", "ns1/c1", "--nats", world.url).stdout
        assert "the whole device, one card with drv-b/n1/e0" in told
        assert "policy pack+strict-cards chose node n1" in told
        rows = json.loads(dra("get", "devices", "--nats", world.url, "-o", "json").stdout)
        assert [(row["device"], row["claims"]) for row in rows] == [
            ("d0", ["ns1/c1"]), ("e0", ["ns1/c1"]), ("e1", ["ns1/c2"]),
        ]  # fmt: skip
        claims = dra("get", "claims", "--nats", world.url, "-o", "json").stdout
        assert json.loads(claims)[0]["devices"] == ["drv-a/n1/d0"]
        verdict = dra("verify", "--nats", world.url)
        assert (verdict.exit_code, verdict.stderr) == (0, "")
