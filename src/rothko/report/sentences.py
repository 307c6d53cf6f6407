"""A policy in sentences, as one would read them to somebody who answers for a release and knows no YAML."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rothko.data.schema import Role
from rothko.policy.policy import Policy

REQUIREMENTS = {
    "k-anonymity": "Every record looks like at least {others:,} others in what is published of the quasi-identifiers.",
    "distinct-l-diversity": "Every class has at least {l:,} different values of {of}.",
    "entropy-l-diversity": "In every class {of} is as hard to guess as among {l:g} equally frequent values.",
    "recursive-l-diversity": "In every class the most frequent value of {of} has less than {c:g} times the records of "
    "all values from the {l:,}. most frequent one on.",
    "frequency-l-diversity": "No value of {of} is that of more than 1 in {l:g} records of a class.",
    "alpha-k": "Every class has at least {k:,} records, and no value of {of} is that of more than {alpha:.3g} of them.",
    "p-sensitive": "Every class has at least {k:,} records and {p:,} different values of {of}.",
    "p-alpha": "Every class has values of {of} from at least {p:,} categories.",
    "t-closeness": "The distribution of {of} in every class is within {t:g} of that in the whole table (earth mover's "
    "distance).",
    "variance-diversity": "The variance of {of} is at least {v:g} in every class.",
    "squared-error-diversity": "The squared error of {of} around its mean is at least {error:g} in every class.",
}
"""Requirement → what it asks, with its parameters."""
PUBLISHED = {
    "range": "Numbers and dates are published as the smallest range around a class, such as [20, 35].",
    "region": "Numbers and dates are published as the region that was cut, such as [20, 40).",
    "mean": "Numbers are published as the mean of a class.",
    "bounds": "Numbers and dates are published as two columns, the smallest and the largest value of a class.",
}
ROLES = {
    Role.IDENTIFIER: "{} {are} left out: {they} tell{s} who somebody is.",
    Role.QUASI_IDENTIFIER: "{} may be known from elsewhere, and {are} made coarser until the requirements hold.",
    Role.SENSITIVE: "{} must not be learnt about anybody, and leave{s} as {they} {are}.",
    Role.KEEP: "{} leave{s} exactly as {they} {are}.",
}


def asked(requirement: Any) -> str:
    """What a requirement asks for.

    >>> from rothko.privacy import KAnonymity
    >>> asked(KAnonymity(k=10))
    'Every record looks like at least 9 others in what is published of the quasi-identifiers.'
    """
    names = ("k", "l", "c", "p", "t", "v", "alpha", "error", "of")
    values = {name: getattr(requirement, name) for name in names if hasattr(requirement, name)}
    said = REQUIREMENTS[requirement.name].format(**values, others=values.get("k", 1) - 1)
    if requirement.owner is not None:
        said = (
            f"Every class has records of at least {requirement.k:,} different people, told apart by {requirement.of}."
        )
    over = getattr(requirement, "over", None)
    return said if over is None else f"{said} This is asked of {listed(over)} together."


def sentences(policy: Policy) -> Iterator[str]:
    """What becomes of every column, what is asked, and how it is published."""
    for role, said in ROLES.items():
        names = [name for name, column in policy.columns.items() if column.role is role]
        if names:
            one = len(names) == 1
            words = {"are": "is" if one else "are", "they": "it" if one else "they", "s": "s" if one else ""}
            yield said.format(listed(names), **words)
    yield from (asked(requirement) for requirement in policy.privacy)
    if policy.method.two_tables:
        yield "Quasi-identifiers are published exactly, in a table of their own that is linked by groups alone."
    else:
        yield PUBLISHED[policy.publish]
    for task in policy.workload:
        yield f"Among what the requirements allow, that was chosen which serves the task “{task.describe()}”."
    if policy.missing:
        some = len(policy.missing)
        yield f"{some} text{'' if some == 1 else 's'} beside the empty cell count{'s' if some == 1 else ''} as missing."
    if policy.order == "keep":
        yield "The rows keep the order of the original, which may tell who is who."


def listed(names: Any) -> str:
    """Names as a person lists them.

    >>> listed(["age", "sex", "zip"]), listed(["age"])
    ('age, sex and zip', 'age')
    """
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else str(last)


def not_promised(policy: Policy) -> Iterator[str]:
    """What somebody who reads the promise should not read into it."""
    if policy.method.two_tables:
        yield (
            "Quasi-identifiers are published exactly: whoever knows them finds the record of a person, and learns that "
            "the person is in the table. What is hidden is which sensitive value of a group is theirs."
        )
    else:
        yield (
            "Who a record belongs to is hidden, not what is true of everybody in a class: where a class shares a "
            "value, whoever places somebody in the class learns it."
        )
    if policy.sensitive and all(requirement.column is None for requirement in policy.privacy):
        yield f"Nothing is asked of {listed(policy.sensitive)}: all records of a class may have the same value."
    if policy.sensitive and any(requirement.column is not None for requirement in policy.privacy):
        yield "A variety of sensitive values is asked for, not ignorance: some may still be likelier than others."
    if policy.kept:
        yield (
            f"Whoever knows what somebody has in {listed(policy.kept)} may find them by that: nothing protects columns "
            "that leave as they are."
        )
    if policy.owner is None:
        yield "A record counts as a person: where people have several, k records may belong to fewer than k people."
    yield "Two releases about the same people may tell more together than each alone."
    yield "A column with the wrong role is not protected. Roles are the decision of whoever wrote the policy."
