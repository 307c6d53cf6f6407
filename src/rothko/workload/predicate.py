r"""The language of ``where``: comparisons of columns with values, joined by ``and`` and ``or``.

::

    predicate   =  all { "or" all }
    all         =  part { "and" part }
    part        =  "(" predicate ")"  |  comparison
    comparison  =  column sign value  |  value sign column
                |  column "between" value "and" value
                |  column "in" "(" value { "," value } ")"
    sign        =  "="  |  "=="  |  "<"  |  "<="  |  ">"  |  ">="
    column      =  age  |  hours-per-week  |  "any name"
    value       =  40  |  -1.5e3  |  'text'  |  '2024-02-29'  |  true  |  false

Words in any case; a quote inside quotes is written twice. All comparisons that ``and`` joins form a
box over the quasi-identifiers, ``or`` makes several boxes (LeFevre, DeWitt, Ramakrishnan, TODS 2008,
section 3.2). What does not form a box, such as ``!=``, a pattern or arithmetic, is refused with the
reason. What the values mean on the columns of a table is :mod:`rothko.workload.boxes`.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal, NamedTuple, NoReturn

from rothko.errors import PolicyError
from rothko.mistakes import show

MOST_BOXES = 1_000
"""A predicate that falls into more is refused: ``or`` inside ``and`` multiplies."""
_DEEPEST = 50
_FURTHEST = 400
"""Numbers beyond 1e±400 are no value of any table, and would take forever to write out."""

Operator = Literal["in", "<", "<=", ">", ">="]
_TURNED: dict[str, Operator] = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_OPPOSITE: dict[str, Operator] = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}


class Value(NamedTuple):
    """A value in a predicate."""

    text: str
    """A text without its quotes; a number as it is written."""
    number: Decimal | None = None
    """The number; None for what stands in quotes, and for true and false."""

    def __str__(self) -> str:
        return self.text if self.number is not None else "'" + self.text.replace("'", "''") + "'"


@dataclass(frozen=True, slots=True)
class Comparison:
    """A column and what its values are compared with; ``=`` is ``in`` with one value."""

    column: str
    operator: Operator
    values: tuple[Value, ...]
    written: str = field(compare=False)
    """The text, for messages."""


Conjunction = tuple[Comparison, ...]
"""Comparisons that must all hold."""


@dataclass(frozen=True, slots=True)
class Predicate:
    """What a record must meet to be selected: all comparisons of one of the alternatives."""

    alternatives: tuple[Conjunction, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it names, in the order of the text."""
        return tuple(dict.fromkeys(c.column for comparisons in self.alternatives for c in comparisons))


def parse(where: str) -> Predicate:
    """Read a predicate.

    Raises
    ------
    PolicyError
        If it is no predicate, does not form boxes, forms too many, or cannot be met by anything.

    Examples
    --------
    >>> parse("40 <= age and sex in ('Male', 'Female')").columns
    ('age', 'sex')
    >>> len(parse("(age < 20 or age > 60) and sex = 'Male'").alternatives)
    2
    """
    return _Parser(where).predicate()


def one_line(where: str) -> str:
    r"""The same predicate with single blanks between its words.

    >>> one_line("age >= 40\n  and name = 'a  b'")
    "age >= 40 and name = 'a  b'"
    """
    return re.sub(rf"({_TEXT}|{_QUOTED})|\s+", lambda found: found[1] or " ", where).strip()


def as_number(text: str) -> Decimal | None:
    """The number that a text writes down; None where it is none, or beyond any value of a table."""
    if not re.fullmatch(_NUMBER, text):
        return None
    number = Decimal(text)
    return number if abs(number.adjusted()) <= _FURTHEST else None


def can_hold(comparisons: Iterable[Comparison], reading: Callable[[Value], Any]) -> bool:
    """Whether a value in an order without gaps could meet all the comparisons.

    Nothing changes between two values that are compared with, so it is enough to try these (the odd
    places) and the gaps around them (the even ones).
    """
    comparisons = list(comparisons)
    values = sorted({reading(value) for comparison in comparisons for value in comparison.values})
    place = {value: 2 * i + 1 for i, value in enumerate(values)}
    end = 2 * len(values) + 1
    left = set(range(end))
    for comparison in comparisons:
        at = [place[reading(value)] for value in comparison.values]
        match comparison.operator:
            case "in":
                left.intersection_update(at)
            case "<" | "<=" as operator:
                left.intersection_update(range(at[0] + (operator == "<=")))
            case ">" | ">=" as operator:
                left.intersection_update(range(at[0] + (operator == ">"), end))
    return bool(left)


def quote_together(comparisons: Iterable[Comparison]) -> str:
    """Comparisons as they are written, in a message."""
    text = " and ".join(dict.fromkeys(comparison.written for comparison in comparisons))
    return text if len(text) <= 120 else f"{text[:117]}…"


def _excluding(comparisons: Conjunction) -> list[Comparison]:
    """Comparisons of one column with numbers that exclude each other; empty where there are none."""
    numeric = [c for c in comparisons if all(value.number is not None for value in c.values)]
    for column in dict.fromkeys(c.column for c in numeric):
        same = [c for c in numeric if c.column == column]
        if not can_hold(same, lambda value: value.number):
            return same
    return []


# ── words ────────────────────────────────────────────────────────────────────────────────────────

_TEXT = r"'(?:[^']|'')*'"
_QUOTED = r'"(?:[^"]|"")*"'
_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_TOKEN = re.compile(
    rf"""\s*(?:
    (?P<text>{_TEXT})
  | (?P<quoted>{_QUOTED})
  | (?P<date>[0-9]{{4}}-[0-9]{{1,2}}-[0-9]{{1,2}}[\w:.]*)
  | (?P<number>{_NUMBER}(?![\w.]))
  | (?P<name>[^\W\d]\w*(?:[-.]\w+)*)
  | (?P<sign><=|>=|==|!=|<>|[=<>(),])
  | (?P<end>$)
  | (?P<other>.)
    )""",
    re.VERBOSE | re.DOTALL,
)
_RESERVED = {"and", "or", "not", "in", "between", "is", "null", "true", "false"}

_HOLE = "takes a box away, and what is left is not a box"
_ARITHMETIC = "arithmetic does not form a box; compare the column itself with a value"
_PATTERN = (
    "a pattern does not form a box; list the values with in (…), or select a node of a hierarchy, "
    "such as zip = '021**' with hierarchy: {mask: right}"
)
_MISSING = "a missing value meets no comparison, so it cannot be selected; leave this out"
_REASONS = {
    **dict.fromkeys("+-*/%^", _ARITHMETIC),
    **dict.fromkeys("‘’“”`´[", "a text goes in single quotes, 'text', and a name in double quotes, \"name\""),
    **dict.fromkeys("0123456789.", "what begins with a digit goes in quotes: 'text', or \"name\" for a column"),
    "'": "this quote is not closed; a quote inside a text is written twice, 'it''s'",
    '"': 'this quote is not closed; a column goes in double quotes, "name"',
    "≤": "write <=",
    "≥": "write >=",
    "≠": f"this {_HOLE}; list the other values with in (…)",
    "&": "write and",
    "|": "write or",
    "!": f"this {_HOLE}; turn the comparison round, such as age >= 40",
    "~": _PATTERN,
    ";": "a predicate is one expression; join comparisons with and, or",
}
_WORD_REASONS = {
    **dict.fromkeys(("like", "ilike", "similar", "glob", "regexp", "rlike", "matches"), _PATTERN),
    **dict.fromkeys(("is", "isnull", "notnull", "null"), _MISSING),
}


class _Token(NamedTuple):
    kind: str
    text: str
    at: int

    @property
    def word(self) -> str:
        """A sign or an unquoted word in small letters; otherwise nothing."""
        return self.text.lower() if self.kind in ("name", "sign") else ""


def _tokens(where: str) -> Iterator[_Token]:
    at = 0
    while True:
        found = _TOKEN.match(where, at)
        assert found is not None
        assert found.lastgroup is not None
        yield _Token(found.lastgroup, found[found.lastgroup], found.start(found.lastgroup))
        if found.lastgroup == "end":
            return
        at = found.end()


# ── sentences ────────────────────────────────────────────────────────────────────────────────────


class _Parser:
    """Reads the grammar top down; every rule gives the alternatives that its part of the text stands for."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.tokens = list(_tokens(where))
        self.place = 0
        self.depth = 0

    @property
    def token(self) -> _Token:
        return self.tokens[self.place]

    def advance(self) -> _Token:
        token = self.token
        self.place += token.kind != "end"
        return token

    def take(self, word: str) -> bool:
        taken = self.token.word == word
        self.place += taken
        return taken

    def expect(self, word: str, where: str) -> None:
        if not self.take(word):
            self.refuse(self.token, f"expected {word} {where}")

    def refuse(self, token: _Token, reason: str) -> NoReturn:
        """Say what is wrong, at its place; what the sign or word itself tells goes first."""
        if token.kind == "end":
            raise PolicyError(f"at the end: {reason}")
        if token.kind == "other":
            reason = _REASONS.get(token.text, "this is no part of a predicate")
        elif token.kind == "date":
            reason = f"a date goes in single quotes, '{token.text}'"
        raise PolicyError(f"character {token.at + 1}, {show(token.text)}: {reason}")

    def predicate(self) -> Predicate:
        if self.token.kind == "end":
            raise PolicyError("is empty; write a predicate such as \"age >= 40 and sex = 'Male'\"")
        alternatives = self.either()
        if self.token.kind != "end":
            self.refuse(self.token, "expected and, or, or the end")
        return Predicate(tuple(alternatives))

    def either(self) -> list[Conjunction]:
        alternatives = self.both()
        while self.take("or"):
            alternatives += self.both()
        self.check_number(len(alternatives))
        return list(dict.fromkeys(alternatives))

    def both(self) -> list[Conjunction]:
        parts = [self.part()]
        while self.take("and"):
            parts.append(self.part())
        self.check_number(math.prod(map(len, parts)))
        joined = [tuple(dict.fromkeys(itertools.chain(*chosen))) for chosen in itertools.product(*parts)]
        excluding = [_excluding(comparisons) for comparisons in joined]
        if all(excluding):
            raise PolicyError(f"nothing can meet {quote_together(excluding[0])}; correct it")
        return [comparisons for comparisons, clash in zip(joined, excluding, strict=True) if not clash]

    def check_number(self, boxes: int) -> None:
        if boxes > MOST_BOXES:
            raise PolicyError(
                f"it falls into more than {MOST_BOXES:,} boxes, since or inside and multiplies; "
                "use in (…) and between in place of or, or ask in several tasks"
            )

    def part(self) -> list[Conjunction]:
        token = self.token
        if self.take("not"):
            self.refuse(token, f"this {_HOLE}; {self.opposite()}")
        if not self.take("("):
            return [self.comparison()]
        self.depth += 1
        if self.depth > _DEEPEST:
            self.refuse(token, f"parentheses are nested more than {_DEEPEST} deep")
        inside = self.either()
        self.expect(")", "to close the parenthesis")
        self.depth -= 1
        return inside

    def comparison(self) -> Conjunction:
        start = self.token
        if start.kind in ("number", "text") or start.word in ("true", "false", "null"):
            return self.turned(start)
        column = self.column()
        token = self.advance()
        match token.word:
            case "=" | "==":
                return self.compared(start, column, "in", self.value())
            case "<" | "<=" | ">" | ">=":
                operator: Any = token.word
                return self.compared(start, column, operator, self.value())
            case "between":
                low, high = self.bounds()
                written = self.since(start)
                return (Comparison(column, ">=", (low,), written), Comparison(column, "<=", (high,), written))
            case "in":
                values = self.listed()
                return (Comparison(column, "in", values, self.since(start)),)
            case "!=" | "<>":
                self.refuse(token, f"this {_HOLE}; {self.others(column, self.value())}")
            case "not":
                self.refuse_not(token, column)
        if token.kind == "number" and token.text[0] in "+-":
            self.refuse(token, _ARITHMETIC)
        expected = f"expected a comparison of {column!r}: = < <= > >= between in"
        return self.refuse(token, _WORD_REASONS.get(token.word, expected))

    def turned(self, start: _Token) -> Conjunction:
        """A value, a sign and a column: ``40 <= age``."""
        value, token = self.value(), self.advance()
        if token.word not in ("=", "==", *_TURNED):
            self.refuse(token, f"expected a comparison of {value} with a column, such as age >= 40")
        if self.token.kind in ("number", "text"):
            self.refuse(self.token, 'this compares two values; one side must be a column, by its name or in "name"')
        column = self.column()
        operator = _TURNED.get(token.word, "in")
        if operator != "in" and self.token.word in _TURNED:
            sign = self.advance()
            self.refuse(
                sign, f"a chain of comparisons; write {_unchained(column, operator, value, sign, self.value())}"
            )
        return self.compared(start, column, operator, value)

    def compared(self, start: _Token, column: str, operator: Operator, value: Value) -> Conjunction:
        if self.token.word in ("=", "==", *_TURNED):
            self.refuse(self.token, "a comparison has two sides; join comparisons with and, or use between")
        return (Comparison(column, operator, (value,), self.since(start)),)

    def column(self) -> str:
        token = self.advance()
        if token.kind == "quoted":
            return token.text[1:-1].replace('""', '"')
        if token.word in _RESERVED:
            self.refuse(token, f'expected a comparison; a column of this name goes in double quotes, "{token.text}"')
        if token.kind != "name":
            self.refuse(token, "expected a comparison, such as age >= 40")
        if self.token.word == "(":
            self.refuse(token, "a function does not form a box; compare the column itself with a value")
        return token.text

    def value(self) -> Value:
        token = self.advance()
        if token.kind == "text":
            return Value(token.text[1:-1].replace("''", "'"))
        if token.kind == "number":
            number = as_number(token.text)
            if number is None:
                self.refuse(token, f"the number is beyond 1e{_FURTHEST} or closer to 0 than 1e-{_FURTHEST}")
            return Value(token.text, number)
        if token.word in ("true", "false"):
            return Value(token.word)
        if token.kind in ("name", "quoted") and token.word not in _RESERVED:
            text = token.text if token.kind == "name" else token.text[1:-1].replace('""', '"')
            self.refuse(
                token, f"a comparison of two columns does not form a box; if this is a text, write {Value(text)}"
            )
        return self.refuse(token, _WORD_REASONS.get(token.word, "expected a value, such as 40 or 'Male'"))

    def bounds(self) -> tuple[Value, Value]:
        low = self.value()
        self.expect("and", "between the two values, as in between 40 and 60")
        return low, self.value()

    def listed(self) -> tuple[Value, ...]:
        self.expect("(", "before the values, as in sex in ('Male', 'Female')")
        values = [self.value()]
        while self.take(","):
            values.append(self.value())
        self.expect(")", "or a comma after the value")
        return tuple(dict.fromkeys(values))

    def since(self, start: _Token) -> str:
        last = self.tokens[self.place - 1]
        return one_line(self.where[start.at : last.at + len(last.text)])

    # What to write in place of what is refused.

    def others(self, column: str, value: Value) -> str:
        name = _name(column)
        if value.number is not None:
            return f"write {name} < {value} or {name} > {value}"
        return f"list the other values, {name} in ('…', '…')"

    def opposite(self) -> str:
        """What to write for ``not`` and the part that follows it."""
        alternatives: Sequence[Conjunction] = ()
        if self.token.word != "not":
            alternatives = self.part()
        if len(alternatives) == 1 and len(alternatives[0]) == 1:
            [[comparison]] = alternatives
            if comparison.operator in _OPPOSITE:
                return f"write {_name(comparison.column)} {_OPPOSITE[comparison.operator]} {comparison.values[0]}"
            return self.others(comparison.column, comparison.values[0])
        return "turn every comparison round, such as age >= 40 for not age < 40"

    def refuse_not(self, token: _Token, column: str) -> NoReturn:
        word = self.advance().word
        if word == "between":
            low, high = self.bounds()
            name = _name(column)
            self.refuse(token, f"this {_HOLE}; write {name} < {low} or {name} > {high}")
        if word == "in":
            self.refuse(token, f"this {_HOLE}; list the other values, {_name(column)} in ('…', '…')")
        self.refuse(token, _WORD_REASONS.get(word, f"this {_HOLE}; compare with = < <= > >= between in"))


def _name(column: str) -> str:
    """A column as it may stand in a predicate."""
    found = _TOKEN.fullmatch(column)
    if found and found["name"] == column and column.lower() not in _RESERVED:
        return column
    return '"' + column.replace('"', '""') + '"'


def _unchained(column: str, operator: Operator, value: Value, sign: _Token, other: Value) -> str:
    name = _name(column)
    if (operator, sign.word) == (">=", "<="):
        return f"{name} between {value} and {other}"
    return f"{name} {operator} {value} and {name} {sign.word} {other}"
