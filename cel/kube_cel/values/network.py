"""IP addresses and networks, read as strictly as Go's netip reads them."""

import re
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final, TypeAlias

from kube_cel.errors import EvaluationError

_Address: TypeAlias = IPv4Address | IPv6Address
_PREFIX_LENGTH: Final = re.compile(r"(?:0|[1-9][0-9]{0,2})\Z")
_BYTE: Final = 8


class Ip:
    """An address without a zone."""

    __slots__ = ("address",)

    def __init__(self, address: _Address) -> None:
        self.address = address

    @property
    def size(self) -> int:
        """How many bytes the address has."""
        return self.address.max_prefixlen // _BYTE

    def __str__(self) -> str:
        return str(self.address)


class Cidr:
    """An address with a prefix length; bits behind the prefix may be set."""

    __slots__ = ("address", "bits")

    def __init__(self, address: _Address, bits: int) -> None:
        self.address = address
        self.bits = bits

    @property
    def size(self) -> int:
        """How many bytes the prefix touches."""
        return -(-self.bits // _BYTE)

    def __str__(self) -> str:
        return f"{self.address}/{self.bits}"

    def contains(self, address: _Address) -> bool:
        """Whether the address is of this family and inside."""
        if address.version != self.address.version:
            return False
        shift = self.address.max_prefixlen - self.bits
        return int(address) >> shift == int(self.address) >> shift

    def masked(self) -> "Cidr":
        """The same network with the bits behind the prefix cleared."""
        shift = self.address.max_prefixlen - self.bits
        cleared = int(self.address) >> shift << shift
        return Cidr(self.address.__class__(cleared), self.bits)


def parse_ip(text: str) -> Ip:
    """The address that the text says. Raises ``EvaluationError`` for any other text."""
    return Ip(_address(text, text, "IP Address"))


def parse_cidr(text: str) -> Cidr:
    """The network that the text says. Raises ``EvaluationError`` for any other text."""
    host, _, bits = text.rpartition("/")
    address = _address(host, text, "network address")
    if not _PREFIX_LENGTH.match(bits) or int(bits) > address.max_prefixlen:
        raise EvaluationError(f"network address parse error: {text!r}")
    return Cidr(address, int(bits))


def _address(text: str, whole: str, what: str) -> _Address:
    if "%" in text:
        raise EvaluationError(f"{what} {whole!r} with zone value is not allowed")
    try:
        address = ip_address(text)
    except ValueError as fault:
        raise EvaluationError(
            f"{what} {whole!r} parse error during conversion from string: {fault}"
        ) from None
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        raise EvaluationError(f"IPv4-mapped IPv6 address {whole!r} is not allowed")
    return address
