"""The rows of `dra get`, one struct per table; its fields are the columns."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

import msgspec

from dra_allocator.core.books.taint_rules import tainted
from dra_cli.core.picture import Holder, Picture
from dra_shared.events.allocations import of_results
from dra_shared.events.pools import PoolPublished
from dra_shared.ids import DeviceId
from dra_shared.kube.devices import Device, ResourceSlice, ResourceSliceSpec
from dra_shared.quantity import parse_quantity


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a table."""


class DeviceRow(Row, frozen=True, kw_only=True):
    """A device that is offered. State: free, held, shared, or tainted (and held by nobody).

    `left`: of its capacities, where shares take parts of them. `same_card`: devices of other
    drivers that are the same card.
    """

    driver: str
    pool: str
    device: str
    state: str
    node: str | None
    claims: tuple[str, ...]
    taints: tuple[str, ...]
    left: tuple[str, ...] = ()
    same_card: tuple[str, ...] = ()


class PoolRow(Row, frozen=True, kw_only=True):
    """A pool, ours or another driver's. State: offered, or why it was withdrawn.

    Each of its devices is held (whole, or some share of it), tainted, or free.
    """

    driver: str
    pool: str
    state: str
    node: str | None
    generation: int
    slices: int
    devices: int
    held: int
    tainted: int
    free: int


class ClaimRow(Row, frozen=True, kw_only=True):
    """A claim. State: pending, allocated, allocated,reserved, or unsatisfiable with the reason."""

    namespace: str
    name: str
    state: str
    node: str | None
    devices: tuple[str, ...]
    pods: tuple[str, ...]
    prepared: bool
    reason: str


class NodeRow(Row, frozen=True, kw_only=True):
    """A node with an agent, or one that Kubernetes knows. State: ready, lost, unschedulable."""

    name: str
    state: str
    drivers: tuple[str, ...]
    devices: int
    held: int
    claims: tuple[str, ...]


def device_rows(picture: Picture) -> Iterator[DeviceRow]:
    """All devices that are offered, in the order of driver and pool."""
    holders, same = picture.holders(), picture.same_cards()
    for part, device in _offered(picture):
        identity = DeviceId(part.driver, part.pool.name, device.name)
        claims = tuple(sorted(str(holder.claim) for holder in holders.get(identity, ())))
        yield DeviceRow(
            driver=part.driver,
            pool=part.pool.name,
            device=device.name,
            state=_device_state(device, claims),
            node=part.node_name or device.node_name,
            claims=claims,
            taints=tuple(f"{taint.key}:{taint.effect}" for taint in device.taints or ()),
            left=_left(device, holders.get(identity, ())),
            same_card=same.get(identity, ()),
        )


def pool_rows(picture: Picture) -> Iterator[PoolRow]:
    """All pools that there are or were, in the order of driver and pool."""
    states: dict[tuple[str, str], Counter[str]] = {}
    for row in device_rows(picture):
        states.setdefault((row.driver, row.pool), Counter())[row.state] += 1
    editions = _editions(picture)
    for key in sorted({*editions, *picture.inventory.pools}):
        slices = editions.get(key, ())
        own = picture.inventory.pools.get(key)
        devices = states.get(key, Counter())
        yield PoolRow(
            driver=key[0],
            pool=key[1],
            state="offered" if own is None or isinstance(own, PoolPublished) else own.reason,
            node=own.node if own else next((part.node_name for part in slices), None),
            generation=max((part.pool.generation for part in slices), default=0),
            slices=len(slices),
            devices=devices.total(),
            held=devices["held"] + devices["shared"],
            tainted=devices["tainted"],
            free=devices["free"],
        )


def claim_rows(picture: Picture) -> Iterator[ClaimRow]:
    """All claims that exist, by namespace and name."""
    registers = picture.registers
    prepared = {uid for uid, _ in picture.prepared}
    refusals = {
        ref.uid: refused.fact.summary
        for _, refused in sorted(registers.refusals.items())
        for ref in refused.fact.claims
    }
    for uid, requested in sorted(registers.claims.items(), key=lambda item: item[1].claim):
        holding = registers.holdings.get(uid)
        costs = of_results(holding.costs) if holding else ()
        pods = _pods_of(picture, uid)
        reason = "" if holding else refusals.get(uid, "")
        yield ClaimRow(
            namespace=requested.claim.namespace,
            name=requested.claim.name,
            state=_claim_state(held=holding is not None, used=bool(pods), refused=bool(reason)),
            node=holding.node if holding else None,
            devices=tuple(str(cost.device) for cost in costs),
            pods=pods,
            prepared=uid in prepared,
            reason=reason,
        )


def node_rows(picture: Picture) -> Iterator[NodeRow]:
    """All nodes, by name."""
    registers, agents = picture.registers, picture.inventory.nodes
    devices = list(device_rows(picture))
    for name in sorted({*registers.nodes, *agents}):
        here = [device for device in devices if device.node == name]
        agent, seen = agents.get(name), registers.nodes.get(name)
        state = "unschedulable" if seen is not None and seen.unschedulable else "ready"
        yield NodeRow(
            name=name,
            state="lost" if agent is not None and agent.lost else state,
            drivers=tuple(sorted(agent.drivers)) if agent else (),
            devices=len(here),
            held=sum(bool(device.claims) for device in here),
            claims=tuple(sorted({claim for device in here for claim in device.claims})),
        )


ROWS: Final[Mapping[str, Callable[[Picture], Iterator[Row]]]] = MappingProxyType(
    {"devices": device_rows, "pools": pool_rows, "claims": claim_rows, "nodes": node_rows}
)


def _editions(picture: Picture) -> dict[tuple[str, str], tuple[ResourceSliceSpec, ...]]:
    own = {key: fact.slices for key, fact in picture.registers.pools.items()}
    foreign = {
        key: tuple(part.spec for part in fact.slices)
        for key, fact in picture.registers.foreign.items()
    }
    return {**foreign, **own}


def _offered(picture: Picture) -> Iterator[tuple[ResourceSliceSpec, Device]]:
    rules = [rule for _, rule in sorted(picture.registers.taint_rules.items())]
    for _, slices in sorted(_editions(picture).items()):
        for part in slices:
            spec = tainted(ResourceSlice(spec=part), rules).spec
            for device in spec.devices or ():
                yield spec, device


def _left(device: Device, holders: Sequence[Holder]) -> tuple[str, ...]:
    """What shares of the device leave of its capacities."""
    shares = [holder.cost for holder in holders if holder.cost.share_id is not None]
    left = {name: parse_quantity(c.value) for name, c in (device.capacity or {}).items()}
    for share in shares:
        for name, amount in share.capacity.items():
            if name in left:
                left[name] -= parse_quantity(amount)
    return tuple(f"{name} {amount}" for name, amount in left.items()) if shares else ()


def _device_state(device: Device, claims: tuple[str, ...]) -> str:
    if claims:
        return "held" if len(claims) == 1 else "shared"
    return "tainted" if any(taint.effect != "None" for taint in device.taints or ()) else "free"


def _pods_of(picture: Picture, uid: str) -> tuple[str, ...]:
    registers = picture.registers
    pods = (registers.pods.get(pod) for pod in registers.users.get(uid, ()))
    return tuple(sorted(str(pod.request.pod) for pod in pods if pod is not None))


def _claim_state(*, held: bool, used: bool, refused: bool) -> str:
    if held:
        return "allocated,reserved" if used else "allocated"
    return "unsatisfiable" if refused else "pending"
