"""On which nodes a pod may go at all: fit, not just excluded, and within reach of its claims."""

from dra_allocator.core.books.node_book import FitIndex, NodeBook
from dra_allocator.core.demand import Demand
from dra_allocator.core.fold.registers import Registers
from dra_allocator.core.search.nodes import one_node, selector_picks
from dra_shared.kube.meta import NodeSelector


def allowed_nodes(nodes: NodeBook, registers: Registers, demand: Demand, fit: FitIndex) -> int:
    """The mask of nodes where the pod may go, devices aside. `fit`: of the pod's kind."""
    mask = fit.mask()
    if len(registers.unfit):
        uids = demand.uids
        for name, claim_uids in registers.unfit.items():
            if not uids.isdisjoint(claim_uids):
                mask &= ~nodes.bit(name)
    for holding in demand.held:
        selector = holding.allocation.node_selector
        if selector is not None:
            mask &= _within(nodes, selector, mask)
    return mask


def why_not_allowed(nodes: NodeBook, registers: Registers, demand: Demand, name: str) -> str | None:
    """What keeps the pod off the node, devices aside; None if nothing does."""
    unfit = nodes.why_unfit(name, demand.pod.request.placement)
    if unfit is not None:
        return unfit
    if not demand.uids.isdisjoint(registers.unfit.get(name) or ()):
        return "could not run there before"
    for holding in demand.held:
        selector = holding.allocation.node_selector
        if selector is not None and not selector_picks(selector, nodes.view(name)):
            return "claim allocated elsewhere"
    return None


def _within(nodes: NodeBook, selector: NodeSelector, mask: int) -> int:
    """The nodes of a mask that the selector picks."""
    name = only_node(selector)
    if name is not None:
        return nodes.bit(name)
    picked = 0
    for name in nodes.named(mask):
        if selector_picks(selector, nodes.view(name)):
            picked |= nodes.bit(name)
    return picked


def only_node(selector: NodeSelector) -> str | None:
    """The node of a selector in the one shape that names a single node; None for other shapes."""
    for term in selector.node_selector_terms[:1]:
        for field in (term.match_fields or ())[:1]:
            name = field.values[0] if field.values else ""
            if selector == one_node(name):
                return name
    return None
