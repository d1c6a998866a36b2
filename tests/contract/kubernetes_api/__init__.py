"""What the bridge and the kubelet stand-in rely on, as promises that any API server can be held to.

The promises are classes of tests (``watching``, ``writing``, ``claims``, ``selectors``, ``pods``); thin test files
run them on the devcluster (here) and on a real API server (in ``tests/e2e``). They need the
fixtures ``api``, ``namespace`` and ``forgetful``.
"""

import pytest

pytest.register_assert_rewrite(
    *(
        f"contract.kubernetes_api.{name}"
        for name in ("claims", "pods", "selectors", "watching", "writing")
    )
)
