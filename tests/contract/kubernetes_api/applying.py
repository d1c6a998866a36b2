"""Promises about manifests that are applied on the server's side."""

from typing import Any

from contract.kubernetes_api.client import APPLY_PATCH, CORE, DRA, Answer, Api, Object

from e2e.controlplane.objects import a_claim_spec


def a_manifest(name: str = "one", **metadata: Any) -> Object:
    """A claim as a file has it."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, **metadata},
        "spec": a_claim_spec(),
    }


def a_path(namespace: str, name: str = "one") -> str:
    return f"{DRA}/namespaces/{namespace}/resourceclaims/{name}"


async def applied(api: Api, path: str, manifest: Any, options: str = "") -> Answer:
    """The answer to `kubectl apply --server-side`."""
    return await api.call("PATCH", f"{path}?fieldManager=kubectl{options}", manifest, APPLY_PATCH)


class ApplyPromises:
    """Any server to which manifests are applied."""

    async def test_what_is_not_there_is_made(self, api: Api, namespace: str) -> None:
        answer = await applied(api, a_path(namespace), a_manifest())
        assert answer.code == 201
        assert answer.body["spec"] == (await api.get(a_path(namespace)))["spec"]

    async def test_what_is_there_is_merged_with(self, api: Api, namespace: str) -> None:
        made = (await applied(api, a_path(namespace), a_manifest(labels={"a": "b"}))).ok()
        await api.merge(a_path(namespace), {"metadata": {"annotations": {"of": "another"}}})
        answer = await applied(api, a_path(namespace), a_manifest(labels={"a": "c", "d": "e"}))
        assert answer.code == 200
        metadata = answer.body["metadata"]
        assert metadata["labels"] == {"a": "c", "d": "e"}
        assert metadata["annotations"] == {"of": "another"}
        assert metadata["uid"] == made["metadata"]["uid"]

    async def test_lists_with_a_key_are_merged_by_it(self, api: Api, namespace: str) -> None:
        containers = [{"name": "a", "image": "one"}, {"name": "b", "image": "one"}]
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p"},
            "spec": {"containers": containers, "terminationGracePeriodSeconds": 0},
        }
        path = f"{CORE}/namespaces/{namespace}/pods/p"
        await applied(api, path, pod)
        pod["spec"] = {"containers": [{"name": "b", "image": "two"}]}
        answer = await api.call("PATCH", f"{path}?fieldManager=other&force=true", pod, APPLY_PATCH)
        images = {one["name"]: one["image"] for one in answer.ok()["spec"]["containers"]}
        assert images == {"a": "one", "b": "two"}

    async def test_the_same_again_makes_no_new_version(self, api: Api, namespace: str) -> None:
        first, second = [await applied(api, a_path(namespace), a_manifest()) for _ in range(2)]
        versions = {one.ok()["metadata"]["resourceVersion"] for one in (first, second)}
        assert len(versions) == 1

    async def test_a_dry_run_makes_nothing(self, api: Api, namespace: str) -> None:
        answer = await applied(api, a_path(namespace), a_manifest(), "&dryRun=All")
        assert answer.code == 201
        assert not await api.exists(a_path(namespace))

    async def test_a_status_is_applied_to_what_is_there(self, api: Api, namespace: str) -> None:
        manifest = a_manifest()
        path = f"{a_path(namespace)}/status"
        assert (await applied(api, path, manifest)).code == 404
        await applied(api, a_path(namespace), manifest)
        assert (await applied(api, path, manifest)).code == 200

    async def test_who_applies_has_a_name(self, api: Api, namespace: str) -> None:
        answer = await api.call("PATCH", a_path(namespace), a_manifest(), APPLY_PATCH)
        assert (answer.code, answer.reason) == (422, "Invalid")
        assert "fieldManager: Required value: is required for apply patch" in answer.message

    async def test_managed_fields_are_not_applied(self, api: Api, namespace: str) -> None:
        fields = [{"manager": "kubectl", "operation": "Apply"}]
        answer = await applied(api, a_path(namespace), a_manifest(managedFields=fields))
        assert (answer.code, answer.message) == (400, "metadata.managedFields must be nil")

    async def test_a_manifest_has_the_name_of_its_url(self, api: Api, namespace: str) -> None:
        answer = await applied(api, a_path(namespace, "two"), a_manifest("one"))
        assert answer.code == 400
        assert "does not match the name on the URL" in answer.message

    async def test_a_manifest_that_breaks_a_rule_is_refused(self, api: Api, namespace: str) -> None:
        answer = await applied(api, a_path(namespace, "Odd_"), a_manifest("Odd_"))
        assert (answer.code, answer.reason) == (422, "Invalid")
