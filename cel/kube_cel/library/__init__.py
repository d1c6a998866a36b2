"""
The functions of the Kubernetes environment, one module a library.

Each module offers ``LIBRARY``, a tuple of declarations with implementation and costs;
``kube_cel.environment`` joins them. Nothing here knows syntax trees or evaluation.
"""

from typing import Final

from kube_cel.declarations import Function
from kube_cel.library import (
    authorizer,
    containers,
    conversions,
    formats,
    formatting,
    includes,
    lists,
    lists_ext,
    logic,
    network,
    operators,
    optional,
    quantity,
    regex,
    semver,
    sets,
    strings,
    time,
    url,
)

LIBRARIES: Final[tuple[tuple[Function, ...], ...]] = (
    logic.LIBRARY,
    operators.LIBRARY,
    containers.LIBRARY,
    conversions.LIBRARY,
    optional.LIBRARY,
    strings.LIBRARY,
    formatting.LIBRARY,
    lists.LIBRARY,
    lists_ext.LIBRARY,
    sets.LIBRARY,
    regex.LIBRARY,
    time.LIBRARY,
    url.LIBRARY,
    network.LIBRARY,
    quantity.LIBRARY,
    semver.LIBRARY,
    formats.LIBRARY,
    includes.LIBRARY,
    authorizer.LIBRARY,
)
