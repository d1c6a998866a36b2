"""Which names Kubernetes accepts. Pure text rules, no objects."""

import re
from typing import Final

LABEL_LIMIT: Final = 63
SUBDOMAIN_LIMIT: Final = 253
LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
QUALIFIED: Final = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")

LABEL_RULE: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and"
    " must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used"
    " for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
SUBDOMAIN_RULE: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or"
    " '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used"
    " for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)


def is_label(text: str) -> bool:
    """A DNS label: 63 characters, lower case, digits and ``-``."""
    return len(text) <= LABEL_LIMIT and bool(LABEL.fullmatch(text))


def is_subdomain(text: str, limit: int = SUBDOMAIN_LIMIT) -> bool:
    """DNS labels joined by dots."""
    return len(text) <= limit and bool(SUBDOMAIN.fullmatch(text))


def is_driver_name(text: str) -> bool:
    """DNS labels joined by dots in either case, 63 characters in all."""
    return is_subdomain(text.lower(), LABEL_LIMIT)


def is_pool_name(text: str) -> bool:
    """DNS subdomains joined by ``/``, 253 characters in all."""
    return 0 < len(text) <= SUBDOMAIN_LIMIT and all(is_subdomain(part) for part in text.split("/"))


def is_qualified_name(text: str) -> bool:
    """A label key or condition type: ``name`` or ``example.com/name``."""
    prefix, slash, name = text.rpartition("/")
    if slash and not is_subdomain(prefix):
        return False
    return len(name) <= LABEL_LIMIT and bool(QUALIFIED.fullmatch(name))
