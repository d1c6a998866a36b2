"""CDI specs: names as the example driver's, the same bytes for the same record, the record inside."""

import json

from unit.node_agent.builders import a_driver, a_planned, a_record

from dra_node_agent.core import cdi
from dra_node_agent.core.lifecycle import Phase


def test_file_kind_and_device_names_are_the_example_drivers() -> None:
    record = a_record("c1", a_planned("gpu-0"), a_planned("gpu-1", share_id="s1"))
    spec = json.loads(cdi.claim_spec(a_driver(), record))
    assert cdi.file_name(a_driver(), record.claim.uid) == "k8s.gpu.example.com-gpu_c1-uid.json"
    assert spec["kind"] == "k8s.gpu.example.com/gpu"
    assert [device["name"] for device in spec["devices"]] == ["c1-uid-gpu-0", "c1-uid-gpu-1-s1"]


def test_the_kubelet_is_told_the_drivers_own_device_and_the_claims() -> None:
    (device,) = cdi.prepared_devices(a_driver("net"), a_record("c1", a_planned("nic-0")))
    assert device.cdi_ids == (
        "k8s.net.example.com/net=common",
        "k8s.net.example.com/net=c1-uid-nic-0",
    )


def test_the_same_record_gives_the_same_bytes_in_whatever_phase() -> None:
    records = [a_record(phase=phase) for phase in Phase]
    assert len({cdi.claim_spec(a_driver(), record) for record in records}) == 1


def test_a_spec_gives_its_record_back() -> None:
    record = a_record("c1", a_planned(env=("A=1", "B=x=y"), device_nodes=("/dev/gpu0",)))
    spec = cdi.claim_spec(a_driver(), record)
    assert cdi.record_in(spec) == record
    assert json.loads(spec)["devices"][0]["containerEdits"] == {
        "env": ["A=1", "B=x=y"],
        "deviceNodes": [{"path": "/dev/gpu0"}],
    }


def test_specs_without_a_record_give_none() -> None:
    for spec in (b"", b"{", b"{}", b"[]", b'{"annotations": {"dra-ledger/record": "{}"}}'):
        assert cdi.record_in(spec) is None


def test_only_files_of_claims_of_the_driver_have_a_uid() -> None:
    driver = a_driver()
    assert cdi.uid_of(driver, cdi.file_name(driver, "u1")) == "u1"
    for name in (
        cdi.file_name(driver),
        cdi.file_name(a_driver("net"), "u1"),
        ".k8s.gpu.example.com-gpu_u1.json.tmp",
        "nvidia.json",
    ):
        assert cdi.uid_of(driver, name) is None


def test_all_containers_see_node_and_driver() -> None:
    (device,) = json.loads(cdi.common_spec(a_driver(), "node-a"))["devices"]
    assert device == {
        "name": "common",
        "containerEdits": {
            "env": ["KUBERNETES_NODE_NAME=node-a", "DRA_RESOURCE_DRIVER_NAME=gpu.example.com"]
        },
    }
