"""Google's own parser and checker (cel-cpp), set up with as much of our environment as it has."""

from cel_expr_python import cel

from kube_cel.checked import Scope
from kube_cel.declarations import merged
from kube_cel.library import LIBRARIES
from kube_cel.types import DYN, INT, list_of

_COMPARABLE = ("bool", "string", "bytes", "timestamp", "duration")
_NUMBERS = ("int", "uint", "double")
_COMPARISONS = {"less": "<", "less_equals": "<=", "greater": ">", "greater_equals": ">="}


def _row(name: str, a: str, b: str) -> str:
    return (
        f"  - {{id: {name}_{a}_{b}, args: [{{type_name: {a}}}, {{type_name: {b}}}], "
        "return: {type_name: bool}}\n"
    )


def _comparisons() -> str:
    """The comparisons across number types, which Kubernetes has and cel-cpp does not."""
    pairs = [(each, each) for each in _COMPARABLE] + [(a, b) for a in _NUMBERS for b in _NUMBERS]
    return "".join(
        f'- name: "_{operator}_"\n  overloads:\n' + "".join(_row(name, a, b) for a, b in pairs)
        for name, operator in _COMPARISONS.items()
    )


_CONFIG = """
stdlib: {exclude_functions: [{name: "_<_"}, {name: "_<=_"}, {name: "_>_"}, {name: "_>=_"}]}
extensions:
- {name: lists}
- {name: sets}
- {name: optional}
- {name: bindings}
- {name: two-var-comprehensions}
variables:
- {name: d, type_name: dyn}
- {name: i, type_name: int}
- {name: l, type_name: list, params: [{type_name: int}]}
functions:
""" + _comparisons()

OURS = Scope(
    {"d": DYN, "i": INT, "l": list_of(INT)},
    {},
    merged(function for library in LIBRARIES for function in library),
)
"""The same variables for our own checker."""

_environment = cel.NewEnv(config=cel.NewEnvConfigFromYaml(_CONFIG))


def verdict(text: str) -> str | None:
    """The type that cel-cpp gives an expression, None if it refuses it."""
    try:
        return _normal(str(_environment.compile(text).return_type()))
    except RuntimeError:
        return None


def _normal(type_name: str) -> str:
    """How our own checker writes the type."""
    name = type_name.lower().replace("<", "(").replace(">", ")")
    return name.replace("null_type", "null")
