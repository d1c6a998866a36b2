"""The tables of `dra get`: every state that a row can show."""

from cluster import DRIVER, a_claim, a_device, a_pool, ended, gone, ref
from unit.cli.ledger import a_history

from dra_cli.core.picture import Picture
from dra_cli.core.rows import claim_rows, device_rows, node_rows, pool_rows
from dra_shared.events.allocations import AllocationAdopted, Cost
from dra_shared.events.cluster import ForeignSlicesObserved, NodeObserved
from dra_shared.events.envelope import AnyFact
from dra_shared.events.nodes import ClaimUnprepared
from dra_shared.events.pools import NodeLost, PoolWithdrawn, WithdrawalReason
from dra_shared.ids import DeviceId
from dra_shared.kube.claims import AllocationResult
from dra_shared.kube.devices import DeviceTaint, ResourceSlice


def a_picture(*facts: AnyFact) -> Picture:
    """The history's picture after some more facts."""
    picture = Picture()
    for record in a_history().tell(*facts).records:
        picture.apply(record)
    return picture


def devices(*facts: AnyFact) -> dict[str, str]:
    """The states of all devices, by pool and name."""
    return {f"{row.pool}/{row.device}": row.state for row in device_rows(a_picture(*facts))}


def an_adoption(
    claim: str, device: str, *, share: str | None = None, admin: bool = False
) -> AnyFact:
    """A claim that somebody else gave a device of n1."""
    cost = Cost(device=DeviceId(DRIVER, "n1", device), share_id=share, admin=admin)
    return AllocationAdopted(
        claim=ref(claim), node="n1", allocation=AllocationResult(), costs=(cost,)
    )


def test_devices_are_free_or_held() -> None:
    assert devices() == {"n1/d0": "free", "n1/d1": "free", "n2/d0": "held"}


def test_a_device_of_two_claims_is_shared() -> None:
    facts = (an_adoption("a", "d0", share="1"), an_adoption("b", "d0", share="2"))
    assert devices(*facts)["n1/d0"] == "shared"


def test_admin_access_takes_nothing() -> None:
    assert devices(an_adoption("a", "d0", admin=True))["n1/d0"] == "free"


def test_a_tainted_device_is_told_with_its_taint_but_a_note_is_none() -> None:
    bad = a_device("d0", taints=(DeviceTaint(key="hot", effect="NoSchedule"),))
    noted = a_device("d1", taints=(DeviceTaint(key="seen", effect="None"),))
    rows = list(device_rows(a_picture(a_pool("n1", [bad, noted], generation=2))))
    assert [(row.state, row.taints) for row in rows[:2]] == [
        ("tainted", ("hot:NoSchedule",)),
        ("free", ("seen:None",)),
    ]


def test_a_withdrawn_pool_is_told_with_its_reason_and_offers_nothing() -> None:
    fact = PoolWithdrawn(driver=DRIVER, pool="n1", node="n1", reason=WithdrawalReason.NODE_LOST)
    rows = {row.pool: row for row in pool_rows(a_picture(fact))}
    assert (rows["n1"].state, rows["n1"].devices) == ("node_lost", 0)
    assert rows["n2"].state == "offered"


def test_other_drivers_pools_are_shown_too() -> None:
    own = a_pool("n1", ["x"], driver="other.example")
    slices = tuple(ResourceSlice(spec=spec) for spec in own.slices)
    fact = ForeignSlicesObserved(driver="other.example", pool="n1", slices=slices)
    picture = a_picture(fact)
    assert ("other.example", "n1", 1) in [(r.driver, r.pool, r.free) for r in pool_rows(picture)]
    assert ("other.example", "x") in [(r.driver, r.device) for r in device_rows(picture)]


def test_claims_are_pending_allocated_reserved_or_unsatisfiable() -> None:
    picture = a_picture(a_claim("new"), a_claim("given"), an_adoption("given", "d0"))
    states = {row.name: row.state for row in claim_rows(picture)}
    assert states == {
        "given": "allocated",
        "many": "unsatisfiable",
        "new": "pending",
        "one": "allocated,reserved",
    }


def test_a_claim_is_reserved_as_long_as_a_pod_uses_it_and_gone_when_it_is_deleted() -> None:
    unused = {row.name: row for row in claim_rows(a_picture(ended("user")))}
    assert (unused["one"].state, unused["one"].pods) == ("allocated", ())
    assert [row.name for row in claim_rows(a_picture(gone("one")))] == ["many"]


def test_a_claim_is_prepared_until_it_is_undone() -> None:
    undone = ClaimUnprepared(node="n2", driver=DRIVER, claim=ref("one"))
    assert [row.prepared for row in claim_rows(a_picture())] == [False, True]
    assert [row.prepared for row in claim_rows(a_picture(undone))] == [False, False]


def test_nodes_are_ready_lost_or_unschedulable() -> None:
    cordoned = NodeObserved(name="n1", uid="n1-uid", labels={}, unschedulable=True)
    rows = node_rows(a_picture(cordoned, NodeLost(node="n2", silent_for=9)))
    assert [(row.name, row.state, row.devices, row.held) for row in rows] == [
        ("n1", "unschedulable", 2, 0),
        ("n2", "lost", 1, 1),
    ]
