"""Promises about writes of any kind: conflicts, patches, names, deletion."""

from typing import Any

from contract.kubernetes_api.client import CORE, DRA, JSON_PATCH, STRATEGIC_PATCH, Api
from waiting import until

from e2e.controlplane.objects import a_claim, a_claim_spec, a_class, a_pod, a_slice

FOREIGN_UID = "00000000-0000-4000-8000-000000000000"
HELD = "example.com/held"


async def a_stored_claim(api: Api, namespace: str, name: str = "one") -> tuple[str, Any]:
    """Its path and the claim, as stored."""
    claims = f"{DRA}/namespaces/{namespace}/resourceclaims"
    return f"{claims}/{name}", await api.create(claims, a_claim(name))


class WritePromises:
    """Any server that the bridge and the kubelet stand-in write to."""

    async def test_a_put_with_an_old_version_conflicts(self, api: Api, namespace: str) -> None:
        path, claim = await a_stored_claim(api, namespace)
        await api.merge(path, {"metadata": {"labels": {"a": "b"}}})
        answer = await api.call("PUT", path, claim)
        assert (answer.code, answer.reason) == (409, "Conflict")
        assert "the object has been modified" in answer.message

    async def test_a_put_with_a_foreign_uid_conflicts(self, api: Api, namespace: str) -> None:
        path, claim = await a_stored_claim(api, namespace)
        claim["metadata"]["uid"] = FOREIGN_UID
        answer = await api.call("PUT", path, claim)
        assert (answer.code, answer.reason) == (409, "Conflict")

    async def test_a_merge_patch_with_version_and_uid_writes_only_that_state(
        self, api: Api, namespace: str
    ) -> None:
        path, claim = await a_stored_claim(api, namespace)
        known = {key: claim["metadata"][key] for key in ("resourceVersion", "uid")}
        patch = {"metadata": {**known, "labels": {"a": "b"}}}
        assert (await api.merge(path, patch)).code == 200
        assert (await api.merge(path, patch)).code == 409
        foreign = {"metadata": {"uid": FOREIGN_UID, "labels": {"a": "c"}}}
        assert (await api.merge(path, foreign)).code in (409, 422)
        assert (await api.get(path))["metadata"]["labels"] == {"a": "b"}

    async def test_a_write_that_changes_nothing_makes_no_new_version(
        self, api: Api, namespace: str
    ) -> None:
        path, _ = await a_stored_claim(api, namespace)
        patch = {"metadata": {"labels": {"a": "b"}}}
        first, second = (await api.merge(path, patch)).ok(), (await api.merge(path, patch)).ok()
        assert first["metadata"]["resourceVersion"] == second["metadata"]["resourceVersion"]

    async def test_a_json_patch_whose_test_fails_is_refused_whole(
        self, api: Api, namespace: str
    ) -> None:
        path, _ = await a_stored_claim(api, namespace)
        patch = [
            {"op": "add", "path": "/metadata/labels", "value": {"a": "b"}},
            {"op": "test", "path": "/metadata/name", "value": "another"},
        ]
        answer = await api.call("PATCH", path, patch, JSON_PATCH)
        assert (answer.code, answer.reason) == (422, "Invalid")
        assert "labels" not in (await api.get(path))["metadata"]

    async def test_a_json_patch_whose_tests_hold_is_applied(self, api: Api, namespace: str) -> None:
        path, claim = await a_stored_claim(api, namespace)
        patch = [
            {"op": "test", "path": "/metadata/uid", "value": claim["metadata"]["uid"]},
            {"op": "add", "path": "/metadata/labels", "value": {"a/b": "c"}},
            {"op": "replace", "path": "/metadata/labels/a~1b", "value": "d"},
        ]
        answer = await api.call("PATCH", path, patch, JSON_PATCH)
        assert answer.ok()["metadata"]["labels"] == {"a/b": "d"}

    async def test_a_strategic_patch_merges_conditions_by_type(
        self, api: Api, namespace: str
    ) -> None:
        pods = f"{CORE}/namespaces/{namespace}/pods"
        await api.create(pods, a_pod("one", nodeName="nowhere"))
        for kind in ("example.com/a", "example.com/b"):
            body = {"status": {"conditions": [{"type": kind, "status": "True"}]}}
            await api.call("PATCH", f"{pods}/one/status", body, STRATEGIC_PATCH)
        found = (await api.get(f"{pods}/one"))["status"]["conditions"]
        assert {"example.com/a", "example.com/b"} <= {entry["type"] for entry in found}

    async def test_main_and_status_are_written_apart(self, api: Api, namespace: str) -> None:
        pods = f"{CORE}/namespaces/{namespace}/pods"
        await api.create(pods, a_pod("one", nodeName="nowhere"))
        both = {"metadata": {"labels": {"a": "b"}}, "status": {"message": "hello"}}
        main = (await api.merge(f"{pods}/one", both)).ok()
        assert main["metadata"]["labels"] == {"a": "b"}
        assert "message" not in main["status"]
        status = {"status": {"message": "hello"}, "spec": {"nodeName": "elsewhere"}}
        written = (await api.merge(f"{pods}/one/status", status)).ok()
        assert written["status"]["message"] == "hello"
        assert written["spec"]["nodeName"] == "nowhere"

    async def test_an_unknown_field_is_refused_when_strict(self, api: Api, namespace: str) -> None:
        claims = f"{DRA}/namespaces/{namespace}/resourceclaims"
        odd = {"metadata": {"name": "odd"}, "spec": {**a_claim_spec(), "colour": "red"}}
        answer = await api.call("POST", f"{claims}?fieldValidation=Strict", odd)
        assert (answer.code, answer.reason) == (400, "BadRequest")
        assert 'unknown field "spec.colour"' in answer.message

    async def test_an_unknown_field_is_dropped_with_a_warning_otherwise(
        self, api: Api, namespace: str
    ) -> None:
        claims = f"{DRA}/namespaces/{namespace}/resourceclaims"
        odd = {"metadata": {"name": "odd"}, "spec": {**a_claim_spec(), "colour": "red"}}
        answer = await api.call("POST", f"{claims}?fieldValidation=Warn", odd)
        assert "colour" not in answer.ok()["spec"]
        assert any("spec.colour" in warning for warning in answer.warnings)

    async def test_a_generated_name_begins_with_its_prefix(self, api: Api, namespace: str) -> None:
        claims = f"{DRA}/namespaces/{namespace}/resourceclaims"
        body = {"metadata": {"generateName": "some-"}, "spec": a_claim_spec()}
        names = {(await api.create(claims, body))["metadata"]["name"] for _ in range(3)}
        assert len(names) == 3
        assert all(name.startswith("some-") and len(name) == 10 for name in names)

    async def test_names_are_needed_valid_and_taken_once(self, api: Api, namespace: str) -> None:
        claims = f"{DRA}/namespaces/{namespace}/resourceclaims"
        codes = {}
        for name in ("", "Not Valid", "once", "once"):
            answer = await api.call("POST", claims, a_claim(name))
            codes[name, answer.code] = answer.reason
        assert codes == {
            ("", 422): "Invalid",
            ("Not Valid", 422): "Invalid",
            ("once", 201): "",
            ("once", 409): "AlreadyExists",
        }

    async def test_what_is_not_there_is_not_found(self, api: Api, namespace: str) -> None:
        for path in (
            f"{DRA}/namespaces/{namespace}/resourceclaims/none",
            f"{DRA}/deviceclasses/none",
            f"{CORE}/namespaces/{namespace}/nonesuches",
        ):
            answer = await api.call("GET", path)
            assert answer.code == 404
        answer = await api.call("POST", f"{DRA}/namespaces/no-such/resourceclaims", a_claim("a"))
        assert (answer.code, answer.reason) == (404, "NotFound")

    async def test_a_dry_run_answers_and_stores_nothing(self, api: Api, namespace: str) -> None:
        claims = f"{DRA}/namespaces/{namespace}/resourceclaims"
        answer = await api.call("POST", f"{claims}?dryRun=All", a_claim("dry"))
        assert answer.ok()["metadata"]["uid"]
        assert not await api.exists(f"{claims}/dry")

    async def test_a_finalizer_holds_a_deleted_object_until_it_is_removed(
        self, api: Api, namespace: str
    ) -> None:
        templates = f"{DRA}/namespaces/{namespace}/resourceclaimtemplates"
        metadata = {"name": "held", "finalizers": [HELD]}
        await api.create(templates, {"metadata": metadata, "spec": {"spec": a_claim_spec()}})
        await api.call("DELETE", f"{templates}/held")
        held = await api.get(f"{templates}/held")
        assert held["metadata"]["deletionTimestamp"]
        more = {"metadata": {"finalizers": [HELD, "example.com/late"]}}
        assert (await api.merge(f"{templates}/held", more)).code == 422
        await api.merge(f"{templates}/held", {"metadata": {"finalizers": []}})
        assert not await api.exists(f"{templates}/held")

    async def test_a_deleted_namespace_takes_nothing_new_and_goes_after_its_contents(
        self, api: Api, namespace: str
    ) -> None:
        doomed = f"{namespace}-doomed"
        place, scope = f"{CORE}/namespaces/{doomed}", f"{DRA}/namespaces/{doomed}"
        templates = f"{scope}/resourceclaimtemplates"
        await api.create(f"{CORE}/namespaces", {"metadata": {"name": doomed}})
        for name in ("first", "second"):
            spec = {"spec": a_claim_spec()}
            await api.create(templates, {"metadata": {"name": name}, "spec": spec})
        deleted = (await api.call("DELETE", place)).ok()
        late = await api.call("POST", f"{scope}/resourceclaims", a_claim("a"))
        by_hand = await api.call("DELETE", f"{templates}/first")
        left = await api.call("GET", f"{templates}/second")
        assert deleted["status"]["phase"] == "Terminating"
        assert (late.code, late.reason) == (403, "Forbidden")
        assert "because it is being terminated" in late.message
        assert (by_hand.code, left.code) == (200, 200)

        async def gone() -> bool:
            return not await api.exists(place)

        await until(gone, "the namespace goes", within=30)
        assert not await api.exists(f"{templates}/second")

    async def test_a_delete_that_means_another_uid_conflicts(
        self, api: Api, namespace: str
    ) -> None:
        path, claim = await a_stored_claim(api, namespace)
        other = {"preconditions": {"uid": FOREIGN_UID}}
        assert (await api.call("DELETE", path, other)).code == 409
        right = {"preconditions": {"uid": claim["metadata"]["uid"]}}
        assert (await api.call("DELETE", path, right)).code == 200

    async def test_generation_counts_changes_of_the_spec_alone(self, api: Api) -> None:
        path = f"{DRA}/deviceclasses/counted"
        made = await api.create(f"{DRA}/deviceclasses", a_class("counted"))
        labelled = (await api.merge(path, {"metadata": {"labels": {"a": "b"}}})).ok()
        changed = (await api.merge(path, {"spec": {"selectors": None}})).ok()
        await api.call("DELETE", path)
        generations = [one["metadata"].get("generation") for one in (made, labelled, changed)]
        assert generations == [1, 1, 2]

    async def test_what_belonged_to_a_deleted_node_goes_with_it(self, api: Api) -> None:
        node = await api.create(f"{CORE}/nodes", {"metadata": {"name": "owner"}})
        piece = dict(a_slice("owner", 1))
        owner = {"apiVersion": "v1", "kind": "Node", "name": "owner"}
        owner["uid"] = node["metadata"]["uid"]
        piece["metadata"] = {"name": "owned", "ownerReferences": [owner]}
        await api.create(f"{DRA}/resourceslices", piece)
        await api.call("DELETE", f"{CORE}/nodes/owner")

        async def gone() -> bool:
            return not await api.exists(f"{DRA}/resourceslices/owned")

        await until(gone, "the slice goes with its node")

    async def test_what_makes_a_slice_is_never_changed(self, api: Api) -> None:
        path = f"{DRA}/resourceslices/fixed-gpu.example.com"
        await api.create(f"{DRA}/resourceslices", a_slice("fixed", 1))
        changes = ({"driver": "other.example.com"}, {"nodeName": "other"}, {"pool": {"name": "p"}})
        codes = [(await api.merge(path, {"spec": change})).code for change in changes]
        wide = {"spec": {"devices": [{"name": f"gpu-{index}"} for index in range(129)]}}
        codes.append((await api.merge(path, wide)).code)
        fine = (await api.merge(path, {"spec": {"pool": {"generation": 2}}})).code
        await api.call("DELETE", path)
        assert (codes, fine) == ([422] * 4, 200)

    async def test_quantities_are_kept_in_their_shortest_form(self, api: Api) -> None:
        piece = a_slice("short", 1)
        piece["spec"]["devices"][0]["capacity"] = {"memory": {"value": "81920Mi"}}
        stored = await api.create(f"{DRA}/resourceslices", piece)
        await api.call("DELETE", f"{DRA}/resourceslices/short-gpu.example.com")
        assert stored["spec"]["devices"][0]["capacity"]["memory"]["value"] == "80Gi"
