"""Types as values: what ``type(x)`` gives, and the run-time name of any value's type."""

from types import NoneType
from typing import Final

from kube_cel.values.formats import NamedFormat
from kube_cel.values.maps import DomainMap
from kube_cel.values.network import Cidr, Ip
from kube_cel.values.numbers import Uint
from kube_cel.values.optional import Optional
from kube_cel.values.quantity import Quantity
from kube_cel.values.semver import Semver
from kube_cel.values.time import Duration, Timestamp
from kube_cel.values.url import Url


class TypeName:
    """A type used as a value; two are equal if their names are."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


CLASS_NAMES: Final[dict[type, str]] = {
    NoneType: "null_type",
    bool: "bool",
    int: "int",
    Uint: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    tuple: "list",
    dict: "map",
    DomainMap: "map",
    Duration: "google.protobuf.Duration",
    Timestamp: "google.protobuf.Timestamp",
    Optional: "optional_type",
    TypeName: "type",
    Quantity: "kubernetes.Quantity",
    Semver: "kubernetes.Semver",
    Url: "kubernetes.URL",
    Ip: "net.IP",
    Cidr: "net.CIDR",
    NamedFormat: "kubernetes.NamedFormat",
}


def name_of(value: object) -> str:
    """The name of a value's type."""
    return CLASS_NAMES[value.__class__]
