"""How many records may be suppressed so that the others lose less, and what becomes of them."""

from __future__ import annotations

import math
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from rothko.errors import PolicyError
from rothko.mistakes import MistakeError, hint, show

Becomes = Literal["star", "left-out"]


class Suppress(BaseModel):
    """What may be suppressed.

    Attributes
    ----------
    records
        A share of the records, above 0 and below 1, or a number of them, at least 2.
    becomes
        ``star``: they leave with ``*`` in every quasi-identifier; ``left-out``: they do not leave. ``as`` in a file.

    Examples
    --------
    >>> Suppress.model_validate(0.02).limit(30_162)
    603
    """

    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True, validate_by_alias=True)

    records: int | float
    becomes: Becomes = Field(default="star", alias="as")

    @model_validator(mode="before")
    @classmethod
    def _short(cls, written: Any) -> Any:
        return written if isinstance(written, dict | Suppress) else {"records": written}

    @field_validator("records", mode="before")
    @classmethod
    def _share_or_number(cls, records: Any) -> Any:
        told = "a share of the records such as 0.02, or a whole number of them, at least 2"
        if isinstance(records, bool) or not isinstance(records, int | float) or not math.isfinite(records):
            raise MistakeError(f"must be {told}, not {show(records)}")
        if records == 1:
            raise MistakeError(f"1 may mean one record or all of them; write {told}")
        if records <= 0 or (records > 1 and not float(records).is_integer()):
            raise MistakeError(f"must be {told}, not {show(records)}")
        return records if records < 1 else int(records)

    @field_validator("becomes", mode="before")
    @classmethod
    def _known(cls, becomes: Any) -> Any:
        if becomes not in get_args(Becomes):
            raise MistakeError(f"{show(becomes)} is not what becomes of a record; {hint(becomes, get_args(Becomes))}")
        return becomes

    def limit(self, rows: int) -> int:
        """The most records of a table that may be suppressed."""
        if self.records < 1:
            return math.floor(self.records * rows)
        if self.records >= rows:
            raise PolicyError(
                f"suppress: {self.records:,} records may be suppressed, and the table has {rows:,}; give fewer, or a "
                "share such as 0.02."
            )
        return int(self.records)

    def told(self, rows: int, away: int, *, starred: bool) -> str:
        """How many records of a table were suppressed, and what became of them."""
        most = self.limit(rows)
        if not away:
            return f"Suppressed: none of at most {most:,} records, for none would spare the others more than it loses."
        told = f"Suppressed: {away:,} of at most {most:,} records, which lose everything"
        if starred:
            return f"{told}; they show * throughout."
        if self.becomes == "left-out":
            return f"{told}; they are left out."
        return f"{told}; they are left out, for as a class of their own they do not meet what is asked."

    def short(self) -> Any:
        """As a person writes it."""
        return self.records if self.becomes == "star" else {"records": self.records, "as": self.becomes}
