"""Promises about lists and watches: nothing is missed, nothing is told twice."""

import msgspec
from contract.kubernetes_api.client import CORE, DRA, Api

from e2e.controlplane.objects import a_claim, a_pod, a_slice


class Forgetful(msgspec.Struct, frozen=True):
    """A server, and a version of its claims that it no longer knows."""

    api: Api
    version: str


def version(obj: dict[str, dict[str, str]]) -> int:
    return int(obj["metadata"]["resourceVersion"])


class WatchPromises:
    """Any server that the bridge and the kubelet stand-in watch."""

    async def test_a_watch_from_a_list_tells_each_change_once_in_order(
        self, api: Api, namespace: str
    ) -> None:
        claims = f"{DRA}/namespaces/{namespace}/resourceclaims"
        listed = await api.get(claims)
        await api.create(claims, a_claim("one"))
        await api.merge(f"{claims}/one", {"metadata": {"labels": {"a": "b"}}})
        await api.merge(f"{claims}/one", {"metadata": {"finalizers": None}})
        await api.call("DELETE", f"{claims}/one")
        from_list = listed["metadata"]["resourceVersion"]
        async with api.watch(claims, resourceVersion=from_list) as events:
            seen = [await events.next() for _ in range(4)]
        assert [kind for kind, _ in seen] == ["ADDED", "MODIFIED", "MODIFIED", "DELETED"]
        versions = [version(obj) for _, obj in seen]
        assert sorted(set(versions)) == versions
        assert versions[0] > int(from_list)

    async def test_a_watch_without_version_begins_with_what_there_is(
        self, api: Api, namespace: str
    ) -> None:
        claims = f"{DRA}/namespaces/{namespace}/resourceclaims"
        await api.create(claims, a_claim("one"))
        async with api.watch(claims) as events:
            kind, obj = await events.next()
        assert (kind, obj["metadata"]["name"]) == ("ADDED", "one")

    async def test_an_object_that_leaves_a_selector_is_told_as_deleted(
        self, api: Api, namespace: str
    ) -> None:
        claims = f"{DRA}/namespaces/{namespace}/resourceclaims"
        await api.create(claims, a_claim("one", labels={"in": "view"}))
        listed = await api.get(f"{claims}?labelSelector=in%3Dview")
        assert [item["metadata"]["name"] for item in listed["items"]] == ["one"]
        since = listed["metadata"]["resourceVersion"]
        async with api.watch(claims, resourceVersion=since, labelSelector="in=view") as events:
            await api.merge(f"{claims}/one", {"metadata": {"labels": {"in": "nothing"}}})
            assert (await events.next())[0] == "DELETED"
            await api.merge(f"{claims}/one", {"metadata": {"labels": {"in": "view"}}})
            assert (await events.next())[0] == "ADDED"

    async def test_pods_are_selected_by_their_node(self, api: Api, namespace: str) -> None:
        pods = f"{CORE}/namespaces/{namespace}/pods"
        selector = "spec.nodeName=node-of-its-own"
        since = (await api.get(f"{pods}?fieldSelector={selector}"))["metadata"]["resourceVersion"]
        async with api.watch(pods, resourceVersion=since, fieldSelector=selector) as events:
            await api.create(pods, a_pod("elsewhere"))
            await api.create(pods, a_pod("here", nodeName="node-of-its-own"))
            kind, obj = await events.next()
        assert (kind, obj["metadata"]["name"]) == ("ADDED", "here")

    async def test_a_bookmark_tells_the_version_before_a_watch_ends_by_its_time(
        self, api: Api, namespace: str
    ) -> None:
        claims = f"{DRA}/namespaces/{namespace}/resourceclaims"
        query = {
            "resourceVersion": (await api.get(claims))["metadata"]["resourceVersion"],
            "labelSelector": "in=view",
            "timeoutSeconds": "4",
            "allowWatchBookmarks": "1",
        }
        async with api.watch(claims, **query) as events:
            unseen = await api.create(claims, a_claim("out-of-view"))
            kind, bookmark = await events.next()
            while (last := await events.next())[0] == "BOOKMARK":
                bookmark = last[1]
        assert (kind, last) == ("BOOKMARK", ("", {}))
        assert version(bookmark) >= version(unseen)
        assert bookmark["kind"] == "ResourceClaim"

    async def test_a_list_as_watch_ends_its_beginning_with_a_marked_bookmark(
        self, api: Api, namespace: str
    ) -> None:
        claims = f"{DRA}/namespaces/{namespace}/resourceclaims"
        await api.create(claims, a_claim("one"))
        query = {
            "sendInitialEvents": "true",
            "allowWatchBookmarks": "true",
            "resourceVersionMatch": "NotOlderThan",
        }
        async with api.watch(claims, **query) as events:
            first, second = await events.next(), await events.next()
        assert first[0] == "ADDED"
        assert second[0] == "BOOKMARK"
        assert second[1]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}

    async def test_a_list_of_slices_is_selected_by_node_and_driver(self, api: Api) -> None:
        for node in ("select-a", "select-b"):
            await api.create(f"{DRA}/resourceslices", a_slice(node, 1))
        selector = "spec.nodeName%3Dselect-a,spec.driver%3Dgpu.example.com"
        found = await api.get(f"{DRA}/resourceslices?fieldSelector={selector}")
        await api.call("DELETE", f"{DRA}/resourceslices?fieldSelector={selector}")
        left = await api.get(f"{DRA}/resourceslices?fieldSelector={selector}")
        other = await api.exists(f"{DRA}/resourceslices/select-b-gpu.example.com")
        await api.call("DELETE", f"{DRA}/resourceslices/select-b-gpu.example.com")
        assert [item["spec"]["nodeName"] for item in found["items"]] == ["select-a"]
        assert (left["items"], other) == ([], True)

    async def test_an_unknown_field_selector_is_refused(self, api: Api) -> None:
        answer = await api.call("GET", f"{CORE}/pods?fieldSelector=spec.color%3Dred")
        assert (answer.code, answer.reason) == (400, "BadRequest")


class HistoryPromises:
    """A server that has forgotten what was before some version."""

    async def test_a_watch_from_too_far_back_is_told_410(self, forgetful: Forgetful) -> None:
        claims = f"{DRA}/resourceclaims"
        async with forgetful.api.watch(claims, resourceVersion=forgetful.version) as events:
            kind, status = await events.next()
        assert kind == "ERROR"
        assert (status["code"], status["reason"]) == (410, "Expired")

    async def test_a_list_brings_the_watcher_back(self, forgetful: Forgetful) -> None:
        claims = f"{DRA}/namespaces/default/resourceclaims"
        listed = await forgetful.api.get(claims)
        since = listed["metadata"]["resourceVersion"]
        async with forgetful.api.watch(claims, resourceVersion=since) as events:
            await forgetful.api.create(claims, a_claim("back"))
            kind, obj = await events.next()
        await forgetful.api.call("DELETE", f"{claims}/back")
        assert (kind, obj["metadata"]["name"]) == ("ADDED", "back")
