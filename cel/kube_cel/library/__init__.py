"""
The functions of the Kubernetes environment, one module a library.

Each module offers ``LIBRARY``, a tuple of declarations with implementation and costs;
``kube_cel.environment`` joins them. Nothing here knows syntax trees or evaluation.
"""

from typing import Final

from kube_cel.declarations import Function
from kube_cel.library import (
    containers,
    conversions,
    logic,
    operators,
    optional,
    quantity,
    regex,
    semver,
    strings,
)

LIBRARIES: Final[tuple[tuple[Function, ...], ...]] = (
    logic.LIBRARY,
    operators.LIBRARY,
    containers.LIBRARY,
    conversions.LIBRARY,
    optional.LIBRARY,
    strings.LIBRARY,
    quantity.LIBRARY,
    regex.LIBRARY,
    semver.LIBRARY,
)
