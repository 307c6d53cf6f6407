"""The certificate: what was asked, what was verified on the released bytes, and how the release was made.

No cell values of the input, no path of it: the certificate may go with the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

from rothko import json_text, notebook
from rothko.engines.engine import Io
from rothko.policy.policy import Policy
from rothko.release.loss import Loss
from rothko.release.verify import Verification, findings_shown

FORMAT, SET_FORMAT = "rothko certificate 1", "rothko sets certificate 1"
"""What certificates say that they are: of tables, and of records that are sets."""
LIBRARIES = ("rothko", "numpy", "numba", "pyarrow", "duckdb")


@cache
def versions() -> dict[str, str]:
    """What the libraries say of themselves, looked up once: it takes 4 ms."""
    return {name: version(name) for name in LIBRARIES}


@dataclass(frozen=True, slots=True)
class Seal:
    """What is known of a release when it is written."""

    files: Mapping[str, str]
    """What is released → its hash, the data first."""
    recoding: Mapping[str, str]
    """Files of the recoding, which is not released → their hashes."""
    notes: tuple[str, ...]
    """What a person should know of the files."""
    timings: Mapping[str, float]
    """Seconds by stage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    """What every certificate says: the files that were written, and how they came about."""

    notes: tuple[str, ...] = ()
    timings: dict[str, float] = field(default_factory=dict)
    file: str | None = None
    """Name of the released file."""
    sha256: str | None = None
    """Hash of the released file; None while the release is only in memory."""
    beside: dict[str, str] = field(default_factory=dict)
    """Other files that are released with it → their hashes."""
    recoding: dict[str, str] = field(default_factory=dict)
    """Files of the recoding, which is not released → their hashes."""

    def sealed(self, seal: Seal) -> Self:
        """The certificate of what was written."""
        (file, digest), *beside = seal.files.items()
        stages = {stage: self.timings.get(stage, 0.0) + taken for stage, taken in seal.timings.items()}
        return replace(
            self,
            file=file,
            sha256=digest,
            beside=dict(beside),
            recoding=dict(seal.recoding),
            notes=(*self.notes, *seal.notes),
            timings=self.timings | stages,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        raise NotImplementedError

    @property
    def _files(self) -> dict[str, Any]:
        named = {} if self.file is None else {self.file: self.sha256, **self.beside}
        return {"file": self.file, "file_sha256": self.sha256, "files": named}

    @property
    def _making(self) -> dict[str, Any]:
        seconds = {stage: round(taken, 4) for stage, taken in self.timings.items()}
        return {"versions": dict(versions()), "seconds": seconds}

    def to_json(self) -> str:
        """The certificate as it is saved."""
        return json_text.dump(self.to_dict()) + "\n"

    def save(self, path: str | Path) -> None:
        """Write the certificate as JSON."""
        Path(path).write_text(self.to_json(), encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Certificate(Sealed):
    """A record of one release of a table."""

    policy: Policy
    verification: Verification
    loss: Loss
    seed: int
    engine: str
    engine_reason: str
    io: Io | None = None
    """What the engine read and wrote; None for the one in memory."""
    left_out: int = 0
    """Records that are not in the release, because they were suppressed."""
    key: str | None = None
    """Where the secret comes from that parts equal records or groups: drawn, or given; None where there is no need."""

    def __repr__(self) -> str:
        found = self.verification
        return f"Certificate({found.rows:,} records in {found.classes:,} classes, verified: {found.holds})"

    def _repr_html_(self) -> str:
        found = self.verification
        how = f"method {self.policy.method.name}, engine {self.engine}"
        return notebook.shown(
            f"Certificate: {found.rows:,} records in {found.classes:,} classes, {how}",
            findings_shown(found.findings),
            notebook.folded("The policy", self.policy.dump()),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "format": FORMAT,
            "verified": self.verification.holds,
            "true_to_original": self.verification.true,
            "requirements": [finding.to_dict() for finding in self.verification.findings],
            "rows": self.verification.rows,
            "classes": self.verification.classes,
            "suppressed": self.loss.suppressed,
            "left_out": self.left_out,
            "columns": list(self.verification.columns),
            # Where the extremes of a column are not shown, a share of its range with many digits would tell that range.
            "loss": self.loss.to_dict(digits=2 if self.policy.publish in ("region", "mean") else 6),
            "method": self.policy.method.name,
            "publish": self.policy.publish,
            "engine": {"name": self.engine, "reason": self.engine_reason},
            "io": None if self.io is None else self.io.to_dict(),
            "seed": self.seed,
            "key": self.key,
            "notes": list(self.notes),
            "policy": self.policy.dump(),
            "policy_sha256": self.policy.digest,
            **self._files,
            "recoding": self.recoding,
            **self._making,
        }
