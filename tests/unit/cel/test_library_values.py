"""The libraries of Kubernetes' own values: quantities, versions, networks, URLs, formats."""

import pytest
from unit.cel.devices import error_of, value_of

TRUE = [
    # quantities
    'quantity("1Gi") == quantity("1024Mi")',
    'quantity("1500m") == quantity("1.5")',
    'quantity("-1k").isLessThan(quantity("0"))',
    'quantity(".5").compareTo(quantity("500m")) == 0',
    'quantity("1e3").asInteger() == 1000',
    'quantity("1").add(quantity("1Ki")).asInteger() == 1025',
    'quantity("5").sub(2).isInteger() && !quantity("1500m").isInteger()',
    'quantity("0.1n").compareTo(quantity("1n")) == 0',
    'quantity("99Ei").compareTo(quantity("9223372036854775807")) == 0',
    'quantity("1e30").isGreaterThan(quantity("100E"))',
    'sign(quantity("-3")) == -1 && sign(quantity("0")) == 0',
    'quantity("0.3").asApproximateFloat() == 0.30000000000000004',
    'isQuantity("1Ki") && isQuantity("Gi") && !isQuantity("1 Ki") && !isQuantity("")',
    'quantity("1").add(1) == quantity("2")',
    # versions
    'semver("1.10.0").isGreaterThan(semver("1.9.0"))',
    'semver("1.0.0-rc.1").isLessThan(semver("1.0.0"))',
    'semver("1.0.0-alpha.2").isLessThan(semver("1.0.0-alpha.10"))',
    'semver("1.0.0-1").isLessThan(semver("1.0.0-a"))',
    'semver("1.0.0+a") == semver("1.0.0+b")',
    'semver("v1.02", true) == semver("1.2.0")',
    'semver("1.2.3").major() == 1 && semver("1.2.3").minor() == 2 && semver("1.2.3").patch() == 3',
    'isSemver("1.2.3") && !isSemver("1.2") && isSemver("1.2", true) && !isSemver("01.2.3")',
    # addresses and networks
    'ip("2001:DB8::1") == ip("2001:db8:0:0:0:0:0:1") && ip("::1").family() == 6',
    'string(ip("1:0:0:2:0:0:0:3")) == "1:0:0:2::3"',
    'ip("127.0.0.1").isLoopback() && ip("169.254.1.1").isLinkLocalUnicast()',
    'ip("224.0.0.1").isLinkLocalMulticast() && ip("ff02::1").isLinkLocalMulticast()',
    'ip("8.8.8.8").isGlobalUnicast() && !ip("255.255.255.255").isGlobalUnicast()',
    'isIP("10.0.0.1") && !isIP("010.0.0.1") && !isIP("fe80::1%eth0") && !isIP("::ffff:1.2.3.4")',
    'ip.isCanonical("::1") && !ip.isCanonical("0::1")',
    'cidr("10.0.0.0/8").containsIP("10.1.2.3") && !cidr("10.0.0.0/8").containsIP("11.0.0.1")',
    'cidr("10.0.0.0/8").containsCIDR("10.1.0.0/16") && !cidr("::/0").containsIP("1.1.1.1")',
    'string(cidr("10.1.2.3/8").masked()) == "10.0.0.0/8" && cidr("::/64").prefixLength() == 64',
    'string(cidr("10.1.2.3/8").ip()) == "10.1.2.3"',
    'isCIDR("10.0.0.0/8") && !isCIDR("10.0.0.0/08") && !isCIDR("10.0.0.0/33")',
    # URLs
    'url("https://u:p@a.test:8443/b%20c?x=1&x=2#f").getHost() == "a.test:8443"',
    'url("https://a.test:8443/b%20c?x=1").getEscapedPath() == "/b%20c"',
    'url("https://a.test/?x=1&x=b+c").getQuery()["x"] == ["1", "b c"]',
    'url("https://[::1]:80/").getHostname() == "::1" && url("https://[::1]:80/").getPort() == "80"',
    'url("https://a.test/x#f").getEscapedPath() == "/x" && url("/a").getScheme() == ""',
    'isURL("/a/b") && isURL("mailto:x") && !isURL("a/b") && !isURL("https://a.test:x/")',
    # formats
    '!format.dns1123Label().validate("a-1").hasValue()',
    'format.dns1123Label().validate("a.b").value().size() == 1',
    'format.dns1123Label().validate("-a").hasValue()',
    '!format.dns1123Subdomain().validate("a.b-c.d").hasValue()',
    '!format.dns1123LabelPrefix().validate("a-").hasValue()',
    '!format.qualifiedName().validate("a.io/B_c").hasValue()',
    'format.qualifiedName().validate("a/b/c").hasValue()',
    '!format.labelValue().validate("").hasValue() && format.labelValue().validate("-").hasValue()',
    '!format.uuid().validate("123e4567-e89b-12d3-a456-426614174000").hasValue()',
    '!format.byte().validate("aGk=").hasValue() && format.byte().validate("aGk").hasValue()',
    '!format.date().validate("2024-02-29").hasValue()',
    'format.date().validate("2023-02-29").hasValue()',
    '!format.datetime().validate("2024-02-29T12:00:00Z").hasValue()',
    'format.named("uuid").hasValue() && !format.named("ulid").hasValue()',
    # optional values
    "optional.of(1) == optional.of(1) && optional.none() != optional.of(1)",
    "!optional.ofNonZeroValue(0).hasValue() && optional.ofNonZeroValue(1).hasValue()",
    "optional.none().or(optional.of(2)).value() == 2 && optional.none().orValue(3) == 3",
    "[1, ?optional.none(), ?optional.of(2)] == [1, 2] && {?'a': optional.none()} == {}",
    "[].first().hasValue() == false && [1, 2].last().value() == 2",
    "optional.unwrap([optional.of(1), optional.none()]) == [1]",
    "optional.of(2).optFlatMap(x, optional.of(x * 2)).value() == 4",
]
ERRORS = [
    'quantity("1GiB") == quantity("1")',
    'quantity("1.5").asInteger() == 1',
    'semver("1.2") == semver("1.2.0")',
    'semver("1.2.3-01") == semver("1.2.3")',
    'semver("18446744073709551616.0.0") == semver("1.0.0")',
    'ip("1.2.3") == ip("1.2.3.4")',
    'cidr("10.0.0.0") == cidr("10.0.0.0/8")',
    'url("a/b") == url("/a/b")',
    'url("https://a.test/?x=1").getQuery().y == [""]',
    "optional.none().value() == 1",
    'quantity("1") == quantity("1").add(0)',
    'dyn(quantity("1")) == "1"',
    '(true ? null : quantity("1")).isInteger()',
    "optional.of(true ? null : ip('::1')).value().isLoopback()",
    "null.isLoopback()",
    "[null].sum() == duration('1s')",
]


@pytest.mark.parametrize("text", TRUE)
def test_it_holds(text: str) -> None:
    assert value_of(text) is True


@pytest.mark.parametrize("text", ERRORS)
def test_it_is_an_error(text: str) -> None:
    assert error_of(text) is not None
