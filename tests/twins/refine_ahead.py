"""Plain twin of looking ahead: which codes can be told apart by so many refinements, one in the other."""

from __future__ import annotations

from rothko.data.line import Kind
from tests.twins.refine import Part, Problem


def cells(problem: Problem, a: int, masks: set[Part], levels: int) -> set[Part]:
    """The parts of a line after every refinement that could be beneficial, so many times, whether valid or not."""
    found = set()
    for part in masks:
        found |= _below(problem, a, part, levels)
    return found


def _below(problem: Problem, a: int, part: Part, levels: int) -> set[Part]:
    if levels == 0 or len(part) == 1:
        return {part}
    refinements = list(problem.refinements(a, part))
    if problem.lines[a].kind is Kind.NOMINAL:
        if not any(problem.beneficial(one) for one in refinements):
            return {part}
        # Whatever is disclosed before, a value leaves with enough records, and so do the others.
        able = [
            one.order
            for one in refinements
            if min(len(problem.within(a, child)) for child in one.children) >= problem.least(a)
        ]
        rest = part - set(able)
        return {frozenset([value]) for value in able} | ({rest} if rest else set())
    for one in refinements:
        # The best split of all is never valid where it leaves too few records, and nothing lies below it.
        too_few = min(len(problem.within(a, child)) for child in one.children) < problem.least(a)
        if problem.beneficial(one) and (problem.lines[a].kind is Kind.TREE or not too_few):
            return set().union(*(_below(problem, a, child, levels - 1) for child in one.children))
    return {part}
