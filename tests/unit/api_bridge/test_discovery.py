"""Servers of other releases: a version that is served is used, or it is said what is missing.

A 1.37 API server does not start without resource.k8s.io/v1, so these are answers as such servers
give them.
"""

from pathlib import Path

import pytest
from unit.api_bridge.servers import RULES, THREE, a_server

from dra_api_bridge.core.objects import Kind
from dra_api_bridge.edge.api import NoClusterError, connected
from dra_api_bridge.edge.discovery import NotServedError, discover, probe_features


async def test_the_stable_version_is_used_where_it_is_served(tmp_path: Path) -> None:
    versions = {"v1": (*THREE, RULES), "v1beta2": THREE}
    async with a_server(versions, tmp_path) as api:
        served = await discover(api)
    assert served.resource_api == "/apis/resource.k8s.io/v1"
    assert served.paths[Kind.TAINT_RULES] == "/apis/resource.k8s.io/v1/devicetaintrules"
    assert served.paths[Kind.PODS] == "/api/v1/pods"


async def test_a_beta_version_is_used_where_it_is_all_there_is(tmp_path: Path) -> None:
    async with a_server({"v1beta2": THREE}, tmp_path) as api:
        assert (await discover(api)).resource_api == "/apis/resource.k8s.io/v1beta2"


async def test_taint_rules_are_watched_in_the_version_that_has_them_or_not_at_all(
    tmp_path: Path,
) -> None:
    async with a_server({"v1": THREE, "v1alpha3": (RULES,)}, tmp_path) as api:
        paths = (await discover(api)).paths
        assert paths[Kind.TAINT_RULES] == "/apis/resource.k8s.io/v1alpha3/devicetaintrules"
    async with a_server({"v1": THREE}, tmp_path) as api:
        assert Kind.TAINT_RULES not in (await discover(api)).paths


async def test_a_server_without_the_api_is_told_with_what_to_do(tmp_path: Path) -> None:
    async with a_server({"v1beta1": THREE}, tmp_path) as api:
        with pytest.raises(NotServedError, match=r"v1\.34\.1 .* enable it with --runtime-config"):
            await discover(api)


async def test_features_that_may_not_be_tried_are_left_open(tmp_path: Path) -> None:
    async with a_server({"v1": THREE}, tmp_path) as api:
        assert await probe_features(api, "/apis/resource.k8s.io/v1") == {}


async def test_no_cluster_at_all_is_told_by_the_name_of_the_setting(tmp_path: Path) -> None:
    with pytest.raises(NoClusterError, match="KUBECONFIG="):
        async with connected(str(tmp_path / "nowhere")):
            pass
