"""Files on their way out: written to private folders beside their targets, moved into place together or removed."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path

from rothko import private
from rothko.errors import OutputError
from rothko.release.commit import State, locked, move, state, undisturbed
from rothko.release.digest import sha256
from rothko.release.write import Content, explained, write_content


@dataclass(frozen=True, slots=True)
class Claim:
    """Names that a run may use, as they were when it began."""

    before: Mapping[Path, State | None] = field(default_factory=dict)
    """What stood under each name, None where it was free; a name that is not here must be free."""
    old: tuple[Path, ...] = ()
    """What goes, though nothing may come in its place; data first."""


@dataclass(slots=True)
class Staging:
    """Files on their way out: written to private folders, then moved into place together or removed."""

    claim: Claim = field(default_factory=Claim)
    moves: list[tuple[Path, Path]] = field(default_factory=list)
    """From where to where, the data first."""
    _made: list[Path] = field(default_factory=list)
    """Folders that were made for the release, the deepest last."""
    _private: dict[Path, tuple[Path, FileIO]] = field(default_factory=dict)
    """Folder of some targets → the private one in it, and its lock."""

    def place_for(self, target: Path, *, hidden: bool = False) -> Path:
        """Where to write what goes to the target: in a private folder beside it, under its name.

        Parameters
        ----------
        hidden
            Let nobody else look into the folder of the target, where it has to be made.
        """
        self._make(target.parent, 0o700 if hidden else 0o777)
        temporary = self._beside(target) / target.name
        self.moves.append((temporary, target))
        return temporary

    def write(self, target: Path, content: Content) -> None:
        """Write what goes with the data."""
        temporary = self.place_for(target)
        with explained(target):
            write_content(content, temporary)

    def write_hidden(self, target: Path, content: Content) -> str:
        """Write what is not for publication, so that nobody else can read it; its hash."""
        temporary = self.place_for(target, hidden=True)
        with explained(target):
            write_content(content, temporary)
            temporary.chmod(0o600)
            return sha256(temporary)

    def settle(self, files: Sequence[Path], shared: Sequence[str]) -> None:
        """Bring data to where it is verified: files are.

        Parameters
        ----------
        shared
            Columns in which all records of a class show the same.
        """

    def digest(self, path: Path) -> str:
        """The hash of data."""
        return sha256(path)

    def commit(self) -> None:
        """Move everything into place, and remove what an older release left there that this one does not replace.

        From then on the release is there, whatever happens. Before, and where this fails, nothing has changed.
        """
        targets = [target for _, target in self.moves]
        before = self.claim.before
        going = [path for path in dict.fromkeys((*targets[:1], *self.claim.old, *targets[1:])) if before.get(path)]
        leaving = [(path, self._beside(path) / f"older-{number}") for number, path in enumerate(going)]
        with explained(targets[0]), locked({path.parent for path in (*targets, *going)}), undisturbed():
            for path in (*targets, *going):
                if state(path) != before.get(path):
                    raise _changed(path)
            try:
                move(self.moves, leaving)
            except FileExistsError as error:
                raise _changed(Path(error.filename2 or error.filename)) from None
            self.moves.clear()
            self._made = [path.parent for path in going if path.parent not in {target.parent for target in targets}]

    def _make(self, folder: Path, mode: int) -> None:
        with explained(folder):
            missing = [path for path in (folder, *folder.parents) if not path.exists()]
            for path in reversed(missing):
                path.mkdir(mode=mode if path == folder else 0o777, exist_ok=True)
                self._made.append(path)

    def _beside(self, target: Path) -> Path:
        """The private folder beside a target."""
        if target.parent not in self._private:
            with explained(target):
                self._private[target.parent] = private.make(target.parent, private.PARTIAL)
        return self._private[target.parent][0]

    def clear(self) -> None:
        """Remove what was not committed, and folders of which nothing is left."""
        for folder, lock in self._private.values():
            private.remove(folder, lock, os.getpid())
        for made in reversed(self._made):
            with contextlib.suppress(OSError):
                made.rmdir()


@contextlib.contextmanager
def staging(claim: Claim | None = None) -> Iterator[Staging]:
    """Files on their way to names that were claimed; what was not committed is removed, whatever happens."""
    stage = Staging(claim or Claim())
    try:
        yield stage
    finally:
        stage.clear()


def _changed(path: Path) -> OutputError:
    return OutputError(
        f"{str(path)!r} was written by somebody else while this run was at work, and stays as it is; nothing was "
        "released."
    )
