"""The shape of a request: all that decides which devices may serve it, whatever is in use.

Requests of the same shape have the same candidates, so answers are remembered by it.
"""

import msgspec

from dra_allocator.core.search.outcome import ClaimError
from dra_shared.kube.claims import (
    DeviceClass,
    DeviceSelector,
    DeviceSubRequest,
    DeviceToleration,
    ExactDeviceRequest,
)
from dra_shared.quantity import Quantity

AnyRequest = ExactDeviceRequest | DeviceSubRequest
"""A request for devices, as the only one or as one of several alternatives."""


class RequestShape(msgspec.Struct, frozen=True, kw_only=True, cache_hash=True):
    """Selectors of class and request as text, tolerations, and capacities asked for as text."""

    class_selectors: tuple[str, ...] = ()
    selectors: tuple[str, ...] = ()
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: tuple[tuple[str, str], ...] = ()


class Candidates(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Which devices of a pool may serve a shape, as masks over the pool's devices.

    `selected`: selectors are true and the device is large enough. `usable`: also tolerated and
    supported. `failed`: looking at the device is an error, whose message is in `errors`; it
    counts only when a search gets there. `consumed`: what a share of the device would take.
    """

    selected: int = 0
    usable: int = 0
    failed: int = 0
    errors: dict[int, ClaimError] = msgspec.field(default_factory=dict)
    consumed: dict[int, dict[str, Quantity]] = msgspec.field(default_factory=dict)


def shape_of(request: AnyRequest, device_class: DeviceClass) -> RequestShape:
    """Give the shape of a request of this class."""
    requests = request.capacity.requests if request.capacity else {}
    return RequestShape(
        class_selectors=_texts(device_class.spec.selectors),
        selectors=_texts(request.selectors),
        tolerations=request.tolerations or (),
        capacity=tuple(sorted(requests.items())),
    )


def _texts(selectors: tuple[DeviceSelector, ...] | None) -> tuple[str, ...]:
    """Give the expressions; a selector of a kind that we do not know is no true expression."""
    return tuple(selector.cel.expression if selector.cel else "" for selector in selectors or ())
