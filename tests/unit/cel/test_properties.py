"""What holds for every text: it compiles or is refused, it has a value or an error."""

from hypothesis import given
from hypothesis import strategies as st
from unit.cel.devices import NEW, STORED, a_device
from unit.cel.expressions import broken_texts, expressions

from kube_cel import CompileError, Environment, EvaluationError
from kube_cel.saturating import UNKNOWN

CHAINS = (
    "device.driver",
    "device",
    'device.attributes["gpu.example.com"]',
    'device.attributes["gpu.example.com"].index',
    'device.attributes["gpu.example.com"].numa',
    'device.capacity["gpu.example.com"].memory',
    'semver("1.2.3")',
    'quantity("1k")',
    'ip("10.0.0.1")',
    'cidr("10.0.0.0/8")',
    'url("https://a.test/b?c=d")',
    "format.uuid()",
)


def outcome(text: str, environment: Environment) -> object:
    try:
        program = environment.compile(text, result="any")
        assert 0 <= program.estimated_cost <= UNKNOWN
        assert program.reads is None or all(program.reads)
        return program.evaluate(a_device()).cost
    except CompileError as error:
        return error.kind
    except EvaluationError as error:
        return error.cost


@given(expressions(CHAINS))
def test_every_expression_has_a_value_or_an_error_of_ours(text: str) -> None:
    assert outcome(text, STORED) == outcome(text, STORED)
    outcome(text, NEW)


@given(broken_texts())
def test_every_broken_text_is_refused_in_an_orderly_way(text: str) -> None:
    outcome(text, STORED)


@given(st.text(max_size=40))
def test_any_text_at_all_is_refused_in_an_orderly_way(text: str) -> None:
    outcome(text, STORED)


@given(expressions(CHAINS))
def test_a_program_made_again_answers_and_costs_the_same(text: str) -> None:
    device = a_device()
    try:
        program = STORED.compile(text, result="any")
        first = program.evaluate(device)
    except (CompileError, EvaluationError):
        return
    assert program.evaluate(a_device()).cost == first.cost
