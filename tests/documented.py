"""The pages as somebody types them: policies and commands in the order in which they stand, run in a folder.

- A block of YAML is the policy that the next command names after ``--policy``.
- A file that is shown by ``cat`` and is not there yet is what the page says that it holds.
- What is shown below a command must be what it prints. ``...`` stands for lines that are left out, a time for any time.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

import pytest

from tests.command import Rothko

DOCS = Path(__file__).parent.parent / "docs"

FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"^(?:    .*\n|\n(?=    ))+", re.MULTILINE)
"""Blocks without a fence, as in the README."""
TIME = re.compile(r" *\b\d+(?:\.\d+)? (?:s|min|h)\b")
LEFT_OUT = "..."


@dataclass(frozen=True)
class Typed:
    """A command, and what is shown below it."""

    line: str
    shown: tuple[str, ...]


def page(name: str) -> str:
    """A page, by its name in the folder of pages."""
    return (DOCS / name).read_text("utf-8")


def elsewhere(text: str, places: Mapping[str, object]) -> str:
    """A page of a reader who has his servers, buckets and folders at other places than those that it names."""
    for named, place in places.items():
        assert named in text, f"the page does not name {named!r}"
        text = text.replace(named, str(place))
    return text


def blocks(text: str, language: str) -> Iterator[str]:
    """The fenced blocks of a language."""
    for name, body in fenced(text):
        if name == language:
            yield body


def fenced(text: str) -> Iterator[tuple[str, str]]:
    """All fenced blocks with their language, in order."""
    for indent, name, body in FENCE.findall(text):
        yield name, "".join(line.removeprefix(indent) for line in body.splitlines(keepends=True))


def prose(text: str) -> str:
    """A page without its fenced blocks."""
    return FENCE.sub("", text)


def section(text: str, title: str) -> str:
    """What stands under a heading, up to the next one of the same or a higher level."""
    found = re.search(rf"^(#+) {re.escape(title)}\n", text, re.MULTILINE)
    assert found, f"there is no section {title!r}"
    rest = text[found.end() :]
    end = re.search(rf"^#{{1,{len(found[1])}}} ", rest, re.MULTILINE)
    return rest[: end.start()] if end else rest


def whole_policy(block: str) -> str:
    """A policy; where no more than its workload is shown, that of the page which the README names beside it."""
    if "columns:" in block:
        return block
    return next(blocks(page("how-to/release-for-a-use.md"), "yaml")).partition("workload:")[0] + block


def plain(text: str) -> str:
    """A page whose indented blocks of commands are fenced."""

    def fence(block: re.Match[str]) -> str:
        lines = "".join(line.removeprefix("    ") for line in block[0].splitlines(keepends=True))
        return f"```console\n{lines.lstrip()}```\n" if lines.lstrip().startswith("$ ") else block[0]

    return INDENTED.sub(fence, text)


def typed(block: str) -> Iterator[Typed]:
    """The commands of a block."""
    found: list[list[str]] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append([line.removeprefix("$ ")])
        elif found:
            found[-1].append(line)
    return (Typed(first, tuple(rest)) for first, *rest in found)


class Desk:
    """A folder in which a page is followed."""

    def __init__(self, folder: Path, rothko: Rothko) -> None:
        self.folder, self._rothko = folder, rothko
        self._policy: str | None = None
        self._code = 0

    def follow(self, text: str) -> int:
        """Do what a page says, compare what it shows, and say how many commands that were."""
        done = 0
        for language, body in fenced(text):
            if language == "yaml":
                self._policy = whole_policy(body)
            if language == "console":
                for one in typed(body):
                    self.type(one)
                    done += 1
        return done

    def type(self, one: Typed) -> None:
        """One command."""
        self._put_policy(one.line)
        words = shlex.split(one.line)
        if words[0] == "cat" and len(words) == 2 and not (self.folder / words[1]).exists():
            (self.folder / words[1]).write_text("\n".join(one.shown) + "\n", encoding="utf-8")
            return
        if one.line == "echo $?":
            printed = [str(self._code)]
        elif words[0] == "rothko":
            words, _, place = (list(part) for part in _parted(words, ">"))
            ran = self._rothko(*words[1:])
            self._code = ran.code
            if place:
                (self.folder / place[0]).write_text(ran.out, encoding="utf-8")
                ran = replace(ran, out="")
            either = [(ran.err + ran.out).splitlines(), (ran.out + ran.err).splitlines()]
            printed = next((lines for lines in either if alike(one.shown, lines)), either[0])
        else:
            shell = subprocess.run(["bash", "-c", one.line], capture_output=True, text=True, check=False)
            self._code, printed = shell.returncode, (shell.stdout + shell.stderr).splitlines()
        told = "\n".join([f"$ {one.line}", "is shown:", *one.shown, "", f"is printed ({self._code}):", *printed])
        assert alike(one.shown, printed) if one.shown else self._code == 0, told

    def _put_policy(self, line: str) -> None:
        """What the page showed last is the policy that a command names."""
        named = re.search(r"--policy ([\w./-]+)", line)
        if self._policy is not None and named is not None:
            (self.folder / named[1]).write_text(self._policy, encoding="utf-8")
            self._policy = None


Made = Callable[..., None]


@pytest.fixture
def desk(folder: Path, rothko: Rothko, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """An empty folder, and a terminal of the width that pages show."""
    monkeypatch.setenv("COLUMNS", "150")
    return Desk(folder, rothko)


@pytest.fixture
def made(desk: Desk) -> Made:
    """Commands that make the data of a page."""

    def make(*commands: str) -> None:
        desk.follow("```console\n" + "".join(f"$ rothko {command}\n" for command in commands) + "```\n")

    return make


def _parted(words: list[str], at: str) -> tuple[list[str], list[str], list[str]]:
    place = words.index(at) if at in words else len(words)
    return words[:place], words[place : place + 1], words[place + 1 :]


def alike(shown: Sequence[str], printed: Sequence[str]) -> bool:
    """Whether lines are those that are shown, where some may be left out.

    >>> alike(["a", "...", "d"], ["a", "b", "c", "d"]), alike(["a", "d"], ["a", "b", "d"])
    (True, False)
    >>> alike(["in 0.34 s"], ["in 12.1 s"])
    True

    Above a column of times, its title has as much room as the longest of them takes.

    >>> alike(["a   whole", "b  0.34 s"], ["a    whole", "b  12.10 s"]), alike(["a   whole"], ["a    whole"])
    (True, False)

    The last digit of a mean ± deviation hangs on the order in which a processor's libraries add.

    >>> alike(["0.6560 ± 0.0310"], ["0.6559 ± 0.0310"]), alike(["0.6560 ± 0.0310"], ["0.6558 ± 0.0310"])
    (True, False)
    """
    timed = any(map(TIME.search, shown))

    def said(line: str) -> str:
        told = TIME.sub(" TIME", line.rstrip())
        return re.sub(r"(?<=\S) +", " ", told) if timed else told

    def near(number: str) -> str:
        last = Decimal(1).scaleb(-len(number.partition(".")[2]))
        return "(?:" + "|".join(re.escape(f"{Decimal(number) + step * last}") for step in (-1, 0, 1)) + ")"

    def expected(line: str) -> str:
        told = re.split(r"(\d+\.\d+)", said(line)) if "±" in line else [said(line)]
        return "".join(near(part) if i % 2 else re.escape(part) for i, part in enumerate(told))

    parts = [expected(line) if line != LEFT_OUT else None for line in shown]
    pattern = "".join(r"(?:.*\n)*?" if part is None else rf"{part}\n" for part in parts)
    return re.fullmatch(pattern, "".join(f"{said(line)}\n" for line in printed)) is not None
