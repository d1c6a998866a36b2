"""Promises about CEL selectors: what cannot be compiled, or costs too much, is not let in."""

from collections.abc import Sequence
from functools import reduce
from typing import Any

import pytest
from contract.kubernetes_api.client import DRA, Answer, Api

from e2e.controlplane.objects import DRIVER, a_claim, a_class

TEN = "[0,1,2,3,4,5,6,7,8,9]"
COSTLY = reduce(lambda inner, name: f"{TEN}.all({name}, {inner})", "abcdefg", "true")
REFUSED = {
    "1": "must evaluate to bool or the unknown type, not int",
    "device.driver": "must evaluate to bool or the unknown type, not string",
    "device.nope": "1:7: undefined field 'nope'\n | device.nope\n | ......^",
    "device.driver == 1": "1:15: found no matching overload for '_==_' applied to '(string, int)'"
    "\n | device.driver == 1\n | ..............^",
    "foo(1)": "1:4: undeclared reference to 'foo' (in container '')\n | foo(1)\n | ...^",
    "device.attributes['a'].b in ['x', 1]": "1:35: expected type 'string' but found 'int'",
    "device.driver.matches('(')": "1:23: invalid matches argument",
    "duration('x') < duration('1s')": "1:10: invalid duration argument",
}
"""Faults of type and name, and what the server says of each."""

GARBLED = ("", "device.", "device..driver", "true &&", "'a", "/*", "a b")
"""Faults of form: servers name the place, each in its own words."""

FINE = (
    "true",
    "device.driver == 'a' && device.allowMultipleAllocations",
    "device.attributes['a.example.com'].model == 'x'",
    "device.capacity['a.example.com'].memory.isGreaterThan(quantity('1Gi'))",
    "cel.bind(a, device.attributes['a'], a.b.matches('^x') || has(a.c))",
)


async def claim_with(api: Api, namespace: str, expressions: Sequence[str]) -> Answer:
    """The answer to a claim whose request has these selectors; nothing is stored."""
    claim: Any = a_claim("selecting")
    selectors = [{"cel": {"expression": text}} for text in expressions]
    request = {"deviceClassName": DRIVER, "selectors": selectors}
    spec = {"devices": {"requests": [{"name": "gpu", "exactly": request}]}}
    path = f"{DRA}/namespaces/{namespace}/resourceclaims?dryRun=All"
    return await api.call("POST", path, {**claim, "spec": spec})


class SelectorPromises:
    """Any server that compiles selectors before it stores them."""

    @pytest.mark.parametrize("text", FINE)
    async def test_what_compiles_is_let_in(self, api: Api, namespace: str, text: str) -> None:
        assert (await claim_with(api, namespace, [text])).code == 201

    @pytest.mark.parametrize("text", REFUSED)
    async def test_a_fault_is_refused_with_its_place_and_why(
        self, api: Api, namespace: str, text: str
    ) -> None:
        answer = await claim_with(api, namespace, ["true", text])
        assert (answer.code, answer.reason) == (422, "Invalid")
        field = "spec.devices.requests[0].exactly.selectors[1].cel.expression"
        why = REFUSED[text]
        failed = "" if why.startswith("must") else "compilation failed: ERROR: <input>:"
        assert f'{field}: Invalid value: "{text}": {failed}{why}' in answer.message

    @pytest.mark.parametrize("text", GARBLED)
    async def test_what_is_no_expression_is_refused(
        self, api: Api, namespace: str, text: str
    ) -> None:
        answer = await claim_with(api, namespace, [text])
        assert (answer.code, answer.reason) == (422, "Invalid")
        assert f'Invalid value: "{text}": compilation failed: ERROR: <input>:1:' in answer.message

    async def test_what_costs_too_much_is_refused(self, api: Api, namespace: str) -> None:
        answer = await claim_with(api, namespace, [COSTLY])
        assert answer.code == 422
        assert "expression: Forbidden: too complex, exceeds cost limit" in answer.message

    async def test_selectors_are_neither_too_long_nor_too_many(
        self, api: Api, namespace: str
    ) -> None:
        long = await claim_with(api, namespace, [f"device.driver == '{'x' * 10240}'"])
        many = await claim_with(api, namespace, ["true"] * 33)
        assert "expression: Too long: may not be more than 10240 bytes" in long.message
        assert "selectors: Too many: 33: must have at most 32 items" in many.message

    async def test_a_class_is_held_to_the_same(self, api: Api) -> None:
        path = f"{DRA}/deviceclasses?dryRun=All"
        selectors = [{"cel": {"expression": "true"}}, {"cel": {"expression": "1"}}, {}]
        body = {**a_class("selecting"), "spec": {"selectors": selectors}}
        answer = await api.call("POST", path, body)
        assert answer.code == 422
        assert 'spec.selectors[1].cel.expression: Invalid value: "1": must' in answer.message
        assert "spec.selectors[2].cel: Required value" in answer.message

    async def test_alternatives_and_templates_are_held_to_the_same(
        self, api: Api, namespace: str
    ) -> None:
        alternative = {
            "name": "some",
            "deviceClassName": DRIVER,
            "selectors": [{"cel": {"expression": "1"}}],
        }
        requests = [{"name": "gpu", "firstAvailable": [alternative]}]
        body = {
            "metadata": {"name": "selecting"},
            "spec": {"spec": {"devices": {"requests": requests}}},
        }
        path = f"{DRA}/namespaces/{namespace}/resourceclaimtemplates?dryRun=All"
        answer = await api.call("POST", path, body)
        field = "spec.spec.devices.requests[0].firstAvailable[0].selectors[0].cel.expression"
        assert f'{field}: Invalid value: "1": must evaluate' in answer.message
