"""The devcluster keeps what the real API server promises; what differs is its bug."""

from contract.kubernetes_api.applying import ApplyPromises
from contract.kubernetes_api.claims import ClaimPromises
from contract.kubernetes_api.pods import PodPromises
from contract.kubernetes_api.selectors import SelectorPromises
from contract.kubernetes_api.watching import HistoryPromises, WatchPromises
from contract.kubernetes_api.writing import WritePromises


class TestWatches(WatchPromises):
    """See ``WatchPromises``."""


class TestHistory(HistoryPromises):
    """See ``HistoryPromises``."""


class TestWrites(WritePromises):
    """See ``WritePromises``."""


class TestApply(ApplyPromises):
    """See ``ApplyPromises``."""


class TestClaims(ClaimPromises):
    """See ``ClaimPromises``."""


class TestPods(PodPromises):
    """See ``PodPromises``."""


class TestSelectors(SelectorPromises):
    """See ``SelectorPromises``."""
