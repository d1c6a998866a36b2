"""``&&``, ``||`` and the conditional: what they evaluate, and which errors they absorb."""

from kube_cel.errors import NoSuchOverloadError
from kube_cel.evaluation.frame import Evaluate, Failure, Frame


def plan_junction(terms: tuple[Evaluate, ...], *, stops_at: bool) -> Evaluate:
    """``&&`` stops at False, ``||`` at True; errors count only if no term stops it."""
    goes_on = not stops_at

    def run(frame: Frame) -> object:
        fault: Failure | None = None
        for term in terms:
            value = term(frame)
            if value is stops_at:
                return stops_at
            if value is not goes_on and (fault is None or value.__class__ is Failure):
                fault = _fault(fault, value)
        return goes_on if fault is None else fault

    return run


def _fault(before: Failure | None, value: object) -> Failure:
    if before is not None:
        return before
    return value if isinstance(value, Failure) else Failure(NoSuchOverloadError())


def plan_not_strictly_false(term: Evaluate) -> Evaluate:
    """True unless the term is False: what lets ``all`` and ``exists`` absorb errors."""

    def run(frame: Frame) -> object:
        value = term(frame)
        frame.charge(1)
        return value is not False

    return run


def plan_conditional(condition: Evaluate, chosen: Evaluate, other: Evaluate) -> Evaluate:
    """Evaluates one branch only."""

    def run(frame: Frame) -> object:
        value = condition(frame)
        if value is True:
            return chosen(frame)
        if value is False:
            return other(frame)
        return value if value.__class__ is Failure else Failure(NoSuchOverloadError())

    return run
