"""
Which type may stand where another is wanted, and what that says about type variables.

Any and dyn fit everywhere; null fits every object; the rest must agree in shape.
"""

from kube_cel.types import DYN, Kind, Type, is_ground

_WILD = frozenset({Kind.DYN, Kind.ANY, Kind.ERROR})
_NULLABLE = frozenset({Kind.OPAQUE, Kind.OBJECT, Kind.NULL})
_NULLABLE_NAMES = frozenset({"google.protobuf.Duration", "google.protobuf.Timestamp"})


class Inference:
    """What is known of the type variables of one expression."""

    def __init__(self) -> None:
        self._bound: dict[Type, Type] = {}
        self._learned: list[tuple[Type, Type | None]] = []
        self._count = 0

    def fresh(self) -> Type:
        """A type variable that nothing is known of yet."""
        self._count += 1
        return Type(Kind.VARIABLE, f"_var{self._count}")

    def assignable(self, given: tuple[Type, ...], wanted: tuple[Type, ...]) -> bool:
        """Whether all of these fit; if they do, what that says about variables is kept."""
        start = len(self._learned)
        if all(map(self._fits, given, wanted)):
            return True
        while len(self._learned) > start:
            variable, before = self._learned.pop()
            if before is None:
                del self._bound[variable]
            else:
                self._bound[variable] = before
        return False

    def resolved(self, type_: Type, *, rest_dyn: bool = False) -> Type:
        """The type with every known variable replaced, and with dyn for the others if asked."""
        if type_.kind is Kind.VARIABLE:
            known = self._bound.get(type_)
            if known is not None:
                return self.resolved(known, rest_dyn=rest_dyn)
            return DYN if rest_dyn else type_
        if is_ground(type_):
            return type_
        params = tuple(self.resolved(param, rest_dyn=rest_dyn) for param in type_.params)
        return type_ if params == type_.params else Type(type_.kind, type_.name, params)

    def _fits(self, given: Type, wanted: Type) -> bool:
        if given is wanted or given == wanted:
            return True
        if wanted.kind is Kind.VARIABLE:
            fits, known = self._fits_variable(given, wanted)
            if fits or known:
                return fits
        if given.kind is Kind.VARIABLE:
            return self._fits_variable(wanted, given)[0]
        if given.kind in _WILD or wanted.kind in _WILD:
            return True
        if given.kind is Kind.NULL:
            return is_nullable(wanted)
        return self._same_shape(given, wanted)

    def _same_shape(self, given: Type, wanted: Type) -> bool:
        if given.kind is not wanted.kind:
            return False
        if given.kind is Kind.TYPE:
            return True
        if given.name != wanted.name or len(given.params) != len(wanted.params):
            return False
        return all(map(self._fits, given.params, wanted.params))

    def _fits_variable(self, given: Type, variable: Type) -> tuple[bool, bool]:
        """Whether the variable can stand for the type, and whether it already stood for one."""
        known = self._bound.get(variable)
        if known is not None:
            if given == known:
                return True, True
            if known.kind is Kind.NULL and self._fits(known, given):
                self._learn(variable, given)
                return True, True
            if self._fits(given, known):
                general = given if less_specific(given, known) else known
                if not self._occurs(variable, general):
                    self._learn(variable, general)
                return True, True
            return False, True
        if self._occurs(variable, given):
            return False, False
        self._learn(variable, given)
        return True, False

    def _learn(self, variable: Type, type_: Type) -> None:
        self._learned.append((variable, self._bound.get(variable)))
        self._bound[variable] = type_

    def _occurs(self, variable: Type, within: Type) -> bool:
        if within == variable:
            return True
        if within.kind is Kind.VARIABLE:
            known = self._bound.get(within)
            return known is not None and self._occurs(variable, known)
        return any(self._occurs(variable, param) for param in within.params)


def is_nullable(type_: Type) -> bool:
    """Whether null fits where the type is wanted."""
    return type_.kind in _NULLABLE or type_.name in _NULLABLE_NAMES


def less_specific(a: Type, b: Type) -> bool:
    """Whether the first says no more than the second."""
    if a.kind in (Kind.DYN, Kind.ANY, Kind.VARIABLE):
        return True
    if b.kind in (Kind.DYN, Kind.ANY, Kind.VARIABLE) or a.kind is not b.kind:
        return False
    if a.kind is Kind.TYPE:
        return True
    if a.name != b.name or len(a.params) != len(b.params):
        return False
    return all(map(less_specific, a.params, b.params))


def instantiated(type_: Type, variables: dict[Type, Type], inference: Inference) -> Type:
    """The type of a declaration with its variables replaced by ones of this expression."""
    if type_.kind is Kind.VARIABLE:
        if type_ not in variables:
            variables[type_] = inference.fresh()
        return variables[type_]
    if is_ground(type_):
        return type_
    params = tuple(instantiated(param, variables, inference) for param in type_.params)
    return Type(type_.kind, type_.name, params)
