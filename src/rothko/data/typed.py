"""Values typed as the schema says, with missing values made one thing.

Null, NaN, empty text and the policy's ``missing`` tokens all become null here, once. Columns that are
released as they are do not pass through: they leave as they came.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from rothko.data.exact import DIGITS, NUMBER, held, rounded
from rothko.data.fold import folded
from rothko.data.line import as_text
from rothko.data.plain import is_text_type
from rothko.data.schema import Column, Role, Schema
from rothko.data.source.source import Source
from rothko.errors import InputError
from rothko.mistakes import said

WHOLE = r"^\s*[+-]?\d{1,38}(\.0*)?\s*$"
"""A whole number in a text column, perhaps written as 42.0; of as many digits as a decimal has."""
SHORT = r"^\s*[+-]?\d{1,18}(\.0*)?\s*$"
"""One of 64 bits."""

LEADING_ZERO = r"^\s*[+-]?0\d"
"""A number that is a code: 02139."""
DATE = r"^\s*\d{4}-\d{2}-\d{2}\s*$"
TIMESTAMP = r"^\s*\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d+)?)?Z?)?\s*$"


def typed(table: pa.Table, policy: Schema) -> pa.Table:
    """What the cuts depend on, typed, with null for every missing value: quasi-identifiers, sensitive columns, whose a
    record is, and of those that are kept the ones that a model of the workload is about.
    """
    kept = [name for name in policy.modelled if name in policy.kept and name in table.column_names]
    owner = () if policy.owner is None else (policy.owner,)
    names = (*policy.quasi_identifiers, *policy.sensitive, *owner, *kept)
    return pa.table({name: typed_column(name, table[name], policy) for name in names})


def typed_column(name: str, column: pa.ChunkedArray, policy: Schema) -> pa.ChunkedArray:
    """A column typed, with null for every missing value.

    What becomes of a value depends on the distinct values of the column alone, neither on their order nor on how
    often each occurs: a column of the distinct values is typed as the whole is.
    """
    spec = policy.columns[name]
    if spec.fold:
        return _folded(name, column, policy.missing)
    if spec.role is Role.SENSITIVE:
        _refuse_uncounted(name, column.type, spec)
    return read_as(name, column, spec.type, policy.missing)


def read_as(name: str, column: pa.ChunkedArray, kind: str, tokens: Sequence[str]) -> pa.ChunkedArray:
    """A column read as what a policy calls its type, with null for every missing value."""
    return _as_type(name, with_one_missing(name, column, tokens), kind)


def with_one_missing(name: str, column: pa.ChunkedArray, tokens: Sequence[str]) -> pa.ChunkedArray:
    """A column with null for every missing value; text comes back as a dictionary."""
    return _without_tokens(_plain(name, column), tokens)


def _refuse_uncounted(name: str, kind: pa.DataType, spec: Column) -> None:
    """Refuse a sensitive column whose values the verifier cannot count as they are meant."""
    if pa.types.is_decimal256(kind):
        raise InputError(
            f"Column {name!r} holds {kind}, which has more digits than can be counted; turn it into decimal128 or text."
        )
    if spec.type == "date" and pa.types.is_timestamp(kind) and kind.tz:
        raise InputError(
            f"Column {name!r} holds {kind}, whose days depend on the zone; remove its 'type', or turn it into dates."
        )


def _folded(name: str, column: pa.ChunkedArray, tokens: Sequence[str]) -> pa.ChunkedArray:
    """Texts that look alike as one value, a missing one where they look like a token; other types as they are."""
    plain = _plain(name, column)
    if not pa.types.is_dictionary(plain.type):
        return _without_tokens(plain, tokens)
    one = plain.unify_dictionaries().combine_chunks() if plain.num_chunks != 1 else plain.chunk(0)
    words = pc.dictionary_encode(folded(one.dictionary))
    merged = pa.DictionaryArray.from_arrays(words.indices.take(one.indices), words.dictionary)
    return _without_tokens(pa.chunked_array([merged]), folded(pa.array(tokens, pa.string())).to_pylist())


def stored_as_text(words: pa.Array) -> str | None:
    """What a column of these distinct texts really holds: 'number', 'date', 'timestamp', or None for text.

    >>> [stored_as_text(pa.array(words)) for words in ([" 42", "7.0"], ["2024-02-29"], ["007"])]
    ['number', 'date', None]
    """
    if len(words) == 0 or pc.any(pc.match_substring_regex(words, LEADING_ZERO), min_count=0).as_py():
        return None
    for kind, pattern in (("number", NUMBER), ("date", DATE), ("timestamp", TIMESTAMP)):
        if pc.all(pc.match_substring_regex(words, pattern), min_count=0).as_py():
            return None if kind == "number" and _loses_digits(words) else kind
    return None


def _loses_digits(words: pa.Array) -> bool:
    """Whether numbers, read from texts, would have other digits than they are written with."""
    whole = pc.all(pc.match_substring_regex(words, WHOLE), min_count=0).as_py()
    return not whole and rounded(words.drop_null().to_pylist())


def read_as_stored(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of text that holds numbers or dates throughout as what it holds; any other as it is."""
    if not pa.types.is_dictionary(column.type):
        return column
    kind = stored_as_text(column.cast(pa.string()).unique().drop_null())
    return column if kind is None else _as_type(name, column, kind)


def guess_types(source: Source, names: Sequence[str], tokens: Sequence[str]) -> dict[str, str]:
    """The columns among ``names`` that hold numbers or dates stored as text → what they hold."""
    guessed: dict[str, str | None] = dict.fromkeys(names)
    asked = list(names)
    for table in source.batches(asked) if asked else ():
        for name in list(guessed):
            column = with_one_missing(name, table[name], tokens)
            words = column.cast(pa.string()).unique().drop_null() if pa.types.is_dictionary(column.type) else None
            if words is not None and len(words) == 0:
                continue
            kind, before = None if words is None else stored_as_text(words), guessed[name]
            if {kind, before} == {"date", "timestamp"}:
                kind = before = "timestamp"
            if kind is None or before not in (None, kind):
                del guessed[name]
            else:
                guessed[name] = kind
        if not guessed:
            break
    return {name: kind for name, kind in guessed.items() if kind is not None}


def _plain(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """One of the types that can be ranked; text as a dictionary, since all work on text is per distinct value."""
    kind = column.type
    if pa.types.is_null(kind):
        return column.cast(pa.string()).dictionary_encode()
    if pa.types.is_dictionary(kind):
        if is_text_type(kind.value_type) and all(_is_clean(chunk.dictionary) for chunk in column.chunks):
            return column.cast(pa.dictionary(pa.int32(), pa.string())).unify_dictionaries()
        column = column.cast(kind.value_type)
        kind = column.type
    if is_text_type(kind):
        return column.cast(pa.string()).dictionary_encode()
    if pa.types.is_uint64(kind):
        return column.cast(pa.decimal128(20, 0))
    if pa.types.is_decimal(kind):
        return _decimal(name, column)
    if pa.types.is_float16(kind):
        column = column.cast(pa.float32())
        kind = column.type
    if pa.types.is_floating(kind):
        column = pc.add(column, pa.scalar(0.0, kind))  # −0 and 0 are one number
        missing = pc.is_nan(column)
        return pc.if_else(missing, pa.scalar(None, kind), column) if pc.any(missing).as_py() else column
    ranked = (
        pa.types.is_integer, pa.types.is_boolean, pa.types.is_date, pa.types.is_timestamp, pa.types.is_time,
    )  # fmt: skip
    if not any(test(kind) for test in ranked):
        raise InputError(
            f"Column {name!r} holds {kind}, which cannot be generalised; drop or keep it, or turn it into text."
        )
    return column


def _decimal(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Decimals of any width as those that every function of Arrow, and SQL, takes."""
    kind = column.type
    if pa.types.is_decimal128(kind):
        return column
    try:
        return column.cast(pa.decimal128(min(kind.precision, DIGITS), kind.scale))
    except pa.ArrowException:
        raise InputError(
            f"Column {name!r} holds {kind}, with values of more than the {DIGITS} digits that can be compared; round "
            "them, or turn the column into text."
        ) from None


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _is_clean(dictionary: pa.Array) -> bool:
    """Whether each entry stands for one value: none is null and none is there twice."""
    return dictionary.null_count == 0 and len(dictionary.unique()) == len(dictionary)


def _without_tokens(column: pa.ChunkedArray, tokens: Sequence[str]) -> pa.ChunkedArray:
    """Null in place of empty text and of the policy's tokens."""
    if pa.types.is_dictionary(column.type):
        absent = pa.array(["", *tokens])
        return pa.chunked_array([_null_where_in(chunk, absent) for chunk in column.chunks], type=column.type)
    if not tokens:
        return column
    if _is_number(column.type):
        hit = pc.is_in(column, value_set=pa.array(held(tokens, column.type), column.type))
    else:
        hit = pc.is_in(as_text(column), value_set=pa.array(tokens, pa.string()))
    return pc.if_else(hit, pa.scalar(None, column.type), column)


def _null_where_in(chunk: pa.DictionaryArray, absent: pa.Array) -> pa.DictionaryArray:
    hit = pc.is_in(chunk.dictionary, value_set=absent)
    if not pc.any(hit, min_count=0).as_py():
        return chunk
    lost = pc.fill_null(hit.take(chunk.indices), False)
    indices = pc.if_else(lost, pa.scalar(None, chunk.indices.type), chunk.indices)
    return pa.DictionaryArray.from_arrays(indices, chunk.dictionary)


def _as_type(name: str, column: pa.ChunkedArray, kind: str) -> pa.ChunkedArray:
    text = pa.types.is_dictionary(column.type)
    if kind == "auto" or (kind == "text" and text):
        return column
    if kind == "text":
        return as_text(column).dictionary_encode()
    if not text:
        fits = {
            "number": _is_number(column.type),
            "date": pa.types.is_date(column.type),
            "timestamp": pa.types.is_timestamp(column.type),
        }[kind]
        if fits:
            return column
        if kind == "date" and pa.types.is_timestamp(column.type):
            return column.cast(pa.date32(), safe=False)
        if kind == "timestamp" and pa.types.is_date(column.type):
            return column.cast(pa.timestamp("us"))
        raise InputError(f"Column {name!r} holds {column.type}, which is not a {kind}; correct its 'type'.")
    one = column.unify_dictionaries().combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    return pa.chunked_array([_parsed(name, one, kind)])


def _parsed(name: str, chunk: pa.DictionaryArray, kind: str) -> pa.Array:
    """Text as numbers or dates, one conversion per distinct value."""
    words = chunk.dictionary
    used = pc.drop_null(chunk.indices.unique())
    words = pc.if_else(
        pc.is_in(pa.array(range(len(words)), used.type), value_set=used), words, pa.scalar(None, words.type)
    )
    if kind == "number":
        good = pc.match_substring_regex(words, NUMBER)
        whole = pc.all(pc.match_substring_regex(words, WHOLE), min_count=0).as_py()
        short = pc.all(pc.match_substring_regex(words, SHORT), min_count=0).as_py()
        target = pa.int64() if short else pa.decimal128(DIGITS, 0) if whole else pa.float64()
        words = pc.utf8_ltrim(pc.utf8_trim_whitespace(words), "+")
        if whole:  # 42.0 is 42; by way of a float, 18 digits would not survive
            words = pc.replace_substring_regex(words, r"\.0*$", "")
    else:
        words = pc.utf8_rtrim(pc.utf8_trim_whitespace(words), "Z")
        good = pc.match_substring_regex(words, DATE if kind == "date" else TIMESTAMP)
        target = pa.date32() if kind == "date" else pa.timestamp("us")
    bad = pc.sum(pc.invert(good), min_count=0).as_py()
    if bad:
        raise InputError(
            f"Column {name!r}: {bad} distinct value(s) cannot be read as a {kind}; list them under 'missing' or "
            f"set 'type: text' ({said('--show-values')} lists them).",
            values=words.filter(pc.invert(good)).to_pylist(),
        )
    if pa.types.is_floating(target) and _loses_digits(words):
        raise InputError(
            f"Column {name!r} has numbers with more digits than a number with a fraction or an exponent keeps; set "
            "'type: text', or round them."
        )
    try:
        parsed = pc.cast(words, target)
    except pa.ArrowInvalid:
        raise InputError(
            f"Column {name!r} has values that look like a {kind} and are none, such as a 30th of February."
        ) from None
    if pa.types.is_floating(target):
        parsed = pc.add(parsed, 0.0)  # −0 and 0 are one number
    return parsed.take(chunk.indices)
