"""Theme J, what a user can see: row 108, what is left."""

from lab import (
    Lab,
    Object,
    a_claim,
    a_class,
    a_device,
    a_request,
    a_slice,
    an_object,
)

from dra_cli.core.picture import Picture
from dra_cli.core.rows import device_rows, pool_rows

BY_NAME = 'device.attributes["dev.lab.example"].name == "{}"'.format


def named(name: str, **fields: object) -> Object:
    return a_device(name, attributes={"name": name}, **fields)


def test_row_108_what_is_left_counts_shares_once_and_admin_access_not_at_all() -> None:
    shared = named("d1", allowMultipleAllocations=True, capacity={"memory": "80Gi"})
    taint = {"key": "hot", "effect": "NoSchedule"}
    ns = an_object("Namespace", "ns1")
    ns["metadata"]["labels"] = {"resource.kubernetes.io/admin-access": "true"}
    part: Object = {"capacity": {"requests": {"memory": "10Gi"}}}
    lab = Lab(
        ns,
        a_class(),
        a_slice("n1", [named("d0"), shared, named("d2", taints=[taint]), named("d3")]),
        a_claim("exclusive", a_request(select=BY_NAME("d0"))),
        a_claim("share-1", a_request(select=BY_NAME("d1"), **part)),
        a_claim("share-2", a_request(select=BY_NAME("d1"), **part)),
        a_claim("admin", a_request(select=BY_NAME("d3"), adminAccess=True)),
    )
    lab.allocate()
    picture = Picture()
    for record in lab.rehearsal.records:
        picture.apply(record)
    (pool,) = pool_rows(picture)
    assert (pool.devices, pool.held, pool.tainted, pool.free) == (4, 2, 1, 1)
    states = {row.device: (row.state, row.left) for row in device_rows(picture)}
    assert states == {
        "d0": ("held", ()),
        "d1": ("shared", ("memory 60Gi",)),
        "d2": ("tainted", ()),
        "d3": ("free", ()),
    }
