"""How the table of a policy is written, where it is a text file or a workbook: what would else be said each time."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from rothko.errors import InputError
from rothko.mistakes import MistakeError, show

if TYPE_CHECKING:  # importing a policy loads no Arrow
    from rothko.data.source.csv import CsvOptions


class InputForm(BaseModel):
    r"""How a text file or a workbook is read; what is not said is sniffed.

    Attributes
    ----------
    delimiter, quote
        One character each; ``tab`` is a tab.
    encoding
        Such as ``utf-16`` or ``latin-1``.
    header
        Whether the first line holds names.
    decimal
        What stands before the decimals of numbers: a point, or a comma.
    thousands
        What parts the thousands of numbers: a point, a comma, a blank or an apostrophe.
    missing
        Words that stand for a missing value in any column; they are read as nothing.
    sheet
        The sheet of a workbook.
    format
        What a file is whose ending does not say it: ``csv``, ``tsv``, ``parquet`` or ``arrow``.

    Examples
    --------
    >>> InputForm(delimiter="tab").options().delimiter
    '\t'
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    delimiter: str | None = None
    quote: str | None = None
    encoding: str | None = None
    header: bool | None = Field(default=None, strict=True)
    decimal: str | None = None
    thousands: str | None = None
    missing: tuple[str, ...] | None = None
    sheet: str | None = None
    format: Literal["csv", "tsv", "parquet", "arrow"] | None = None

    @field_validator("delimiter", "quote", mode="before")
    @classmethod
    def _one_character(cls, sign: Any) -> Any:
        sign = "\t" if sign in ("tab", "\\t") else sign
        if sign is not None and (not isinstance(sign, str) or len(sign) != 1):
            raise MistakeError(f"must be one character, or tab, not {show(sign)}")
        return sign

    @field_validator("decimal", mode="before")
    @classmethod
    def _point_or_comma(cls, sign: Any) -> Any:
        if sign not in (None, ".", ","):
            raise MistakeError(f"must be '.' or ',', not {show(sign)}")
        return sign

    @field_validator("thousands", mode="before")
    @classmethod
    def _parts(cls, sign: Any) -> Any:
        if sign not in (None, ".", ",", " ", "'"):
            raise MistakeError(f"must be '.', ',', ' ' or \"'\", not {show(sign)}")
        return sign

    @field_validator("missing", mode="before")
    @classmethod
    def _words(cls, words: Any) -> Any:
        return (words,) if isinstance(words, str) else words

    @model_validator(mode="after")
    def _differ(self) -> InputForm:
        if self.thousands is not None and self.thousands == (self.decimal or "."):
            other = "," if self.thousands == "." else "."
            raise MistakeError(
                f"what parts thousands cannot stand before decimals, too; write decimal: '{other}'", key="thousands"
            )
        return self

    @field_validator("encoding")
    @classmethod
    def _known(cls, encoding: str | None) -> str | None:
        from rothko.data.source.csv import check_encoding

        try:
            if encoding is not None:
                check_encoding(encoding)
        except InputError as error:
            raise MistakeError(str(error).rstrip(".")) from None
        return encoding

    @classmethod
    def of(cls, options: CsvOptions) -> InputForm:
        """The form that options say."""
        return cls(**asdict(options))

    def options(self, said: CsvOptions | None = None) -> CsvOptions:
        """The same as options; what is said with a command wins."""
        from rothko.data.source.csv import CsvOptions

        told = asdict(said or CsvOptions())
        return CsvOptions(**{name: getattr(self, name) if told[name] is None else told[name] for name in told})
