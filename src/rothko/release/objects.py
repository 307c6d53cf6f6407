"""Files on their way to an object store: verified in a private folder, then copied, the certificate last.

A store has no moves, and shows every object as soon as it is there. So a release counts from the moment that its
certificate is there: the certificate of an older one at the place goes first, and the new one comes when everything
else was copied and read again. What was copied is removed if that fails.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from rothko import private
from rothko.data.address import Store, address, is_store, is_within
from rothko.errors import OutputError
from rothko.mistakes import said
from rothko.release.commit import undisturbed
from rothko.release.staging import Staging

PROBE = ".rothko-probe"
"""An object that is written and removed before any work, to learn whether one may."""


@dataclass(frozen=True, slots=True)
class InStore:
    """The names of a release in an object store, looked at before any work is done."""

    store: Store
    names: tuple[Path, ...]
    """All that a release at the place may have."""
    certificate: Path
    overwrite: bool
    folder: Path | None = None
    """Where files lie until they are verified; by default where this machine keeps what is temporary."""
    inputs: tuple[Path, ...] = ()
    """What is read, which is neither overwritten nor removed."""

    def check(self) -> None:
        """Refuse names that are taken or read, and a store that cannot be written to."""
        for read in filter(is_store, self.inputs):
            if any(is_within(read, path) for path in self.names):
                raise OutputError(f"The output is the input: {address(read)!r} is read; choose another name.")
        if not self.overwrite:
            for path in self.names:
                if self.store.size(path) is not None or self.store.under(path):
                    raise OutputError(f"{address(path)!r} exists; use {said('--overwrite', True)} to replace it.")
        probe = self.certificate.with_name(PROBE)
        with tempfile.NamedTemporaryFile() as nothing:
            self.store.put(Path(nothing.name), probe)
        self.store.remove(probe)

    @contextlib.contextmanager
    def staging(self) -> Iterator[Staging]:
        """Files on their way to these names."""
        stage = Upload(place=self)
        try:
            yield stage
        finally:
            stage.clear()


@dataclass(slots=True, kw_only=True)
class Upload(Staging):
    """Files in a private folder that go to an object store together, or not at all."""

    place: InStore
    _here: dict[Path, Path] = field(default_factory=dict)
    """Folder of some targets → that of this machine."""

    def commit(self) -> None:
        """Copy everything, the certificate last; remove what an older release left that this one does not replace."""
        store, certificate = self.place.store, self.place.certificate
        self.place.check()
        moves = [(file, goal) for local, target in self.moves for file, goal in _files(local, target)]
        moves.sort(key=lambda move: move[1] == certificate)
        coming = {target for _, target in moves}
        with undisturbed():
            old = [path for name in self.place.names for path in (name, *store.under(name))]
            for path in sorted({certificate, *old}, key=lambda path: path != certificate):
                if store.size(path) is not None and (path == certificate or path not in coming):
                    store.remove(path)
            copied = []
            try:
                for local, target in moves:
                    copied.append(target)
                    store.put(local, target)
            except BaseException:
                for target in reversed(copied):
                    with contextlib.suppress(Exception):
                        store.remove(target)
                raise

    def _make(self, folder: Path, mode: int) -> None:
        """Nothing: a store has no folders."""

    def _beside(self, target: Path) -> Path:
        if target.parent not in self._here:
            if not self._private:
                where = self.place.folder or Path(tempfile.gettempdir())
                self._private[where] = private.make(where, private.PARTIAL)
            [(folder, _)] = self._private.values()
            here = self._here[target.parent] = folder / str(len(self._here))
            here.mkdir(mode=0o700)
        return self._here[target.parent]


def _files(local: Path, target: Path) -> Iterator[tuple[Path, Path]]:
    if local.is_dir():
        for file in sorted(local.iterdir()):
            yield file, target / file.name
    else:
        yield local, target
