"""How the table of a policy is written, where it is a text file: what would else be said with each command."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from rothko.errors import InputError
from rothko.mistakes import MistakeError, show

if TYPE_CHECKING:  # importing a policy loads no Arrow
    from rothko.data.source.csv import CsvOptions


class InputForm(BaseModel):
    r"""How a text file is read; what is not said is sniffed.

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
