"""The certificate of a release of sets: what was asked, what was verified on the released bytes, what is kept."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

from rothko.engines.engine import Io
from rothko.privacy import K1Anonymity, KAnonymity
from rothko.privacy.k1anonymity import ADVERSARIES
from rothko.release.certificate import SET_FORMAT, Sealed
from rothko.release.save import Saved
from rothko.release.verify import Verification
from rothko.sets.methods import SetMethod
from rothko.sets.publish import SetMetrics


class SavedSets(NamedTuple):
    """Where a release was written, and the certificate of the written bytes."""

    data: Path
    certificate_path: Path
    certificate: dict[str, Any]
    report_path: Path | None = None
    """The page of the report, where there is one."""
    report_failed: str | None = None
    """The kind of error, where there should be a report and it could not be made."""

    @classmethod
    def of(cls, saved: Saved[SetCertificate]) -> SavedSets:
        """From what was written."""
        told = saved.certificate.to_dict()
        return cls(saved.data, saved.certificate_path, told, saved.report_path, saved.report_failed)


@dataclass(frozen=True, slots=True, kw_only=True)
class SetCertificate(Sealed):
    """A record of one release of sets; nothing in it tells an item."""

    method: SetMethod
    asked: KAnonymity | K1Anonymity
    verification: Verification
    """Without findings until it is verified."""
    metrics: SetMetrics
    seed: int | None
    """None where it is a secret."""
    engine: str | None = None
    """Where it was made, if not in memory."""
    io: Io | None = None
    """What that engine read."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        found = [finding.to_dict() for finding in self.verification.findings]
        reached = {name: found[0][name] if found else None for name in ("achieved", "holds")}
        elsewhere = {} if self.engine is None else {"engine": {"name": self.engine, "reason": "asked for"}}
        if self.io is not None:
            elsewhere["io"] = self.io.to_dict()
        return {
            "format": SET_FORMAT,
            "verified": bool(found) and self.verification.holds,
            "true_to_original": self.verification.true,
            "requirement": {"name": self.asked.name, "asked": self.asked.k, **reached},
            "adversary": ADVERSARIES[self.asked.name],
            "rows": self.verification.rows,
            "classes": self.verification.classes,
            "metrics": self.metrics.to_dict(),
            "method": {"name": self.method.name}
            | {option.name: getattr(self.method, option.name) for option in fields(self.method)},
            **elsewhere,
            "seed": self.seed,
            "notes": list(self.notes),
            **self._files,
            **self._making,
        }
