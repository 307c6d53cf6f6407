"""What stands where files are to go: names are claimed before any work is done.

What belongs to an older release at the place goes; what its certificate does not list, or what has other bytes by now,
is somebody else's.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from rothko import json_text, private
from rothko.data.address import is_store
from rothko.errors import OutputError, unreadable_name
from rothko.mistakes import said
from rothko.release.commit import state
from rothko.release.digest import sha256
from rothko.release.formats.table import ENDINGS
from rothko.release.names import LINE_ENDINGS, large_files, named_file, no_stream, stem_of
from rothko.release.staging import Claim
from rothko.release.write import explained


def claim_files(
    paths: Iterable[str | Path],
    *,
    overwrite: bool,
    inputs: Iterable[Path] = (),
    endings: tuple[str, ...] | None = None,
) -> Claim:
    """Names of single files in folders that are there, looked at before any work is done.

    Parameters
    ----------
    endings
        Those that the first name, that of the data, may have; any where it is None.
    """
    names, inputs = [named_file(path) for path in paths], tuple(inputs)
    if len({name.absolute() for name in names}) < len(names):
        raise OutputError(f"Two files cannot be written to one name ({names[0].name}); choose another for one of them.")
    if endings is not None:
        refuse_ending(names[0], endings)
    for path in names:
        _free(path, overwrite, inputs)
        check_writable(path.parent)
    return Claim({path: state(path) for path in names})


def refuse_ending(path: Path, endings: tuple[str, ...]) -> None:
    """Refuse a name that does not say what is to be written."""
    if not path.name.lower().endswith(endings):
        raise OutputError(f"{path.name} has an ending that rothko does not write; it writes {', '.join(endings)}.")


def claim_folder(folder: str | Path, names: Iterable[str], *, overwrite: bool, inputs: Iterable[Path] = ()) -> Claim:
    """Names in a folder that is there or can be made; what stands there goes, whether or not it is replaced."""
    folder = no_stream(folder)
    with explained(folder):
        if folder.exists() and not folder.is_dir():
            raise OutputError(f"{str(folder)!r} is a file; name a folder.")
    paths, inputs = [folder / name for name in names], tuple(inputs)
    for path in paths:
        _free(path, overwrite, inputs)
    check_writable(folder, make=True)
    before = {path: state(path) for path in paths}
    return Claim(before, tuple(path for path, there in before.items() if there is not None))


def claim_release(
    names: list[Path],
    certificate: Path,
    data: Path,
    recodings: tuple[Path, ...],
    reports: tuple[Path, ...],
    overwrite: bool,
    inputs: Iterable[Path],
    *,
    in_parts: bool = False,
) -> Claim:
    """The names of a release, and what of an older one at the same place goes with it."""
    inputs = tuple(inputs)
    for path in names:
        _free(path, overwrite, inputs, may_be_folder=in_parts and path == data)
    old = [path for path in _older(certificate, data, recodings, reports) if path != data]
    for path in old:
        _free(path, overwrite, inputs)
    return Claim({path: state(path) for path in (*names, *old)}, tuple(old))


def _older(certificate: Path, data: Path, recodings: Iterable[Path], reports: Iterable[Path]) -> Iterator[Path]:
    """What an older release consists of besides its certificate: what that lists, if its bytes are still the same.

    Only names that a release at this place can have are looked for, whatever the certificate says.
    """
    about = _listed(certificate)
    known = {**_hashes(about.get("files")), **_hashes({about.get("file"): about.get("file_sha256")})}
    stem, endings = stem_of(data), (*ENDINGS, *LINE_ENDINGS)
    mine = {*endings, *(f"_sensitive{ending}" for ending in endings)}
    for name, digest in known.items():
        path = data.with_name(name) if name.startswith(stem) and name[len(stem) :].lower() in mine else None
        if path is not None and (path == data or _holds(path, digest)):
            yield path
    hidden = _hashes(about.get("recoding"))
    for path in dict.fromkeys(path for one in recodings for path in (one, *large_files(one))):
        if path.name in hidden and _holds(path, hidden[path.name]):
            yield path
    certified = about.get("file_sha256")
    if isinstance(certified, str):
        yield from (path for path in reports if _tells_of(path, certified))


def _listed(certificate: Path) -> Mapping[object, object]:
    """An older certificate; nothing where there is none that can be read."""
    try:
        found = json_text.parse(certificate.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _hashes(listed: object) -> dict[str, str]:
    items = listed.items() if isinstance(listed, dict) else ()
    return {name: digest for name, digest in items if isinstance(name, str) and isinstance(digest, str)}


def _holds(path: Path, digest: str) -> bool:
    with contextlib.suppress(OSError):
        return path.is_file() and not path.is_symlink() and sha256(path) == digest
    return False


def _tells_of(report: Path, digest: str) -> bool:
    """Whether a file is the report of a release with this hash: it says so near its beginning."""
    with contextlib.suppress(OSError):
        if report.is_file() and not report.is_symlink():
            with report.open("rb") as file:
                return digest.encode() in file.read(4096)
    return False


def _free(path: Path, overwrite: bool, inputs: Iterable[Path], *, may_be_folder: bool = False) -> None:
    wrong = unreadable_name(path.absolute())
    if wrong is not None:
        raise OutputError(wrong)
    with explained(path):
        if path.is_dir() and not may_be_folder:
            raise OutputError(f"{str(path)!r} is a folder.")
        there = state(path) is not None
        for read in inputs if path.exists() else ():
            if read.exists() and path.samefile(read):
                raise OutputError(f"The output is the input: {str(read)!r} is read; choose another name.")
        if there and not overwrite:
            raise OutputError(f"{str(path)!r} exists; use {said('--overwrite', True)} to replace it.")


def check_writable(folder: Path, *, make: bool = False) -> None:
    """Refuse a folder that cannot be written to, or that is not there unless it may be made."""
    if is_store(folder):
        raise OutputError(
            "To an object store goes a release, and its recoding beside it; name a file or a folder of this machine."
        )
    if not make and not folder.is_dir():
        raise OutputError(f"There is no folder {str(folder)!r}.")
    with explained(folder):
        there = next(parent for parent in (folder.absolute(), *folder.absolute().parents) if parent.exists())
        private.remove(*private.make(there, private.PARTIAL), os.getpid())
