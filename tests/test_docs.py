"""The documentation says what is so: commands and options, keys, public names, Python blocks, links."""

from __future__ import annotations

import ast
import doctest
import inspect
import json
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import typer

import rothko
from rothko.cli import application
from rothko.data.hierarchy import spec as hierarchy_spec
from rothko.data.source import formats as read_formats
from rothko.engines import ENGINES
from rothko.errors import PolicyError
from rothko.methods import METHODS
from rothko.policy.column import Column
from rothko.policy.policy import Policy
from rothko.privacy import REQUIREMENTS, SET_REQUIREMENTS
from rothko.release.formats import table as written_formats
from rothko.sets.methods import SET_METHODS
from rothko.workload import TASKS
from rothko.workload.predicate import parse
from rothko.workload.tasks import FUNCTIONS
from tests.documented import blocks, prose, section, whole_policy

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))

page = pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(DOCS).as_posix())


def in_backticks(text: str) -> set[str]:
    return set(re.findall(r"`([^`\n]+)`", prose(text)))


# ── the command line


def commands(name: str = "rothko", command: Any = None) -> Iterator[tuple[str, Any]]:
    command = command or typer.main.get_command(application())
    if hasattr(command, "commands"):
        for word, below in command.commands.items():
            yield from commands(f"{name} {word}", below)
    else:
        yield name, command


COMMANDS = dict(commands())


def options(command: Any) -> set[str]:
    return {word for p in command.params if p.param_type_name == "option" for word in p.opts + p.secondary_opts}


def test_every_command_has_its_section_and_no_other_has_one() -> None:
    text = (DOCS / "reference/command-line.md").read_text("utf-8")
    assert set(re.findall(r"^## (rothko .*)$", text, re.MULTILINE)) == set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_described_with_exactly_its_options(name: str) -> None:
    text = section((DOCS / "reference/command-line.md").read_text("utf-8"), name)
    described = {word for row in re.findall(r"^\| (`-.*?) \|", text, re.MULTILINE) for word in in_backticks(row)}
    assert described == options(COMMANDS[name])
    mentioned = {word for word in in_backticks(text) if word.startswith("-")}
    assert mentioned <= options(COMMANDS[name])


@page
def test_commands_in_examples_exist(path: Path) -> None:
    lines = [line for block in blocks(path.read_text("utf-8"), "console") for line in block.splitlines()]
    for line in lines:
        if not line.startswith("$ rothko "):
            continue
        words = shlex.split(line.removeprefix("$ "))
        if words[1] == "demo" or words[1].startswith("-"):
            continue
        name = next((n for n in COMMANDS if " ".join(words).startswith(n)), None)
        assert name, f"{line!r} is no command"
        given = {word for word in words if re.fullmatch(r"-[a-z]|--[a-z-]+", word)}
        assert given <= options(COMMANDS[name]), line


# ── the policy, the certificate, the public names


def test_every_key_of_a_policy_is_described() -> None:
    text = (DOCS / "reference/policy.md").read_text("utf-8")
    known = {
        "Top level": set(Policy.model_fields),
        "Columns": set(Column.model_fields),
        "Privacy": {*REQUIREMENTS, *(p for r in REQUIREMENTS.values() for p in inspect.signature(r).parameters)},
        "Workload": {*TASKS, *(p for t in TASKS.values() for p in inspect.signature(t).parameters), *FUNCTIONS},
        "Method": {*METHODS, *(p for m in METHODS.values() for p in inspect.signature(m).parameters)},
    }
    known["Engine"] = {*ENGINES, *(p for e in ENGINES.values() for p in inspect.signature(e).parameters)}
    for title, names in known.items():
        assert names <= in_backticks(section(text, title)), title
    forms = section(text, "Hierarchies")
    for kind in hierarchy_spec._FORMS:
        assert re.search(rf"`\{{?{kind}[:`]", forms), kind


def test_every_field_of_a_certificate_is_described() -> None:
    people = {"age": [23, 27, 31, 35], "disease": ["flu", "cold", "flu", "asthma"]}
    policy = Policy.quick(people, qi=["age"], sensitive=["disease"], k=2, l=2)
    release = rothko.anonymize(people, policy)
    text = (DOCS / "reference/certificate.md").read_text("utf-8")
    certificate = release.certificate.to_dict()
    fields = in_backticks(section(text, "certificate.json"))
    assert set(certificate) <= fields
    assert set(certificate["requirements"][0]) <= in_backticks(section(text, "requirements"))
    assert set(certificate["loss"]) <= in_backticks(section(text, "loss"))
    for nested in ("engine", "versions", "seconds"):
        assert set(certificate[nested]) <= fields, nested


def test_every_field_of_a_recoding_is_described(tmp_path: Path) -> None:
    people = {"age": [23, 27, 31, 35]}
    recoding = rothko.anonymize(people, Policy.quick(people, qi=["age"], k=2)).recoding
    assert recoding is not None
    recoding.save(tmp_path / "recoding.json")
    saved: Mapping[str, Any] = json.loads((tmp_path / "recoding.json").read_text("utf-8"))
    text = section((DOCS / "reference/certificate.md").read_text("utf-8"), "recoding.json")
    assert set(saved) <= in_backticks(text)
    assert set(saved["attributes"][0]) <= in_backticks(section(text, "attributes"))
    assert set(saved["tree"]) <= in_backticks(section(text, "tree"))


def test_every_public_name_has_its_section() -> None:
    text = (DOCS / "reference/python.md").read_text("utf-8")
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == rothko.__all__


def test_every_requirement_and_method_has_its_page() -> None:
    assert {p.stem for p in (DOCS / "requirements").glob("*.md")} == {"index", *REQUIREMENTS, *SET_REQUIREMENTS}
    assert {p.stem for p in (DOCS / "methods").glob("*.md")} == {"index", *METHODS, *SET_METHODS}


@pytest.mark.parametrize("path", [*PAGES, ROOT / "README.md"], ids=lambda path: path.relative_to(ROOT).as_posix())
def test_policies_in_examples_are_valid(path: Path) -> None:
    for block in blocks(path.read_text("utf-8"), "yaml"):
        Policy.parse(whole_policy(block))


def test_the_workload_page_says_what_is_refused_and_what_to_write() -> None:
    """Each row: predicates that are refused, and predicates that are read (those in backticks that compare)."""
    text = section((DOCS / "workload.md").read_text("utf-8"), "What is refused")
    rows = re.findall(r"^\| (`.*?) \| (.*?) \|$", prose(text), re.MULTILINE)
    assert len(rows) > 9
    for refused, instead in rows:
        for where in re.findall(r"`([^`]+)`", refused):
            with pytest.raises(PolicyError):
                parse(where)
        for where in re.findall(r"`([^`]+)`", instead):
            if re.search(r"[=<>]| in | between ", where):
                parse(where)


# ── Python blocks and links


WITH_PROMPTS = [path for path in PAGES if any(">>>" in block for block in blocks(path.read_text("utf-8"), "python"))]


@pytest.mark.parametrize("path", WITH_PROMPTS, ids=lambda path: path.relative_to(DOCS).as_posix())
def test_python_blocks_run_and_print_what_they_say(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    source = "\n".join(block for block in blocks(path.read_text("utf-8"), "python") if ">>>" in block)
    test = doctest.DocTestParser().get_doctest(source, {}, path.stem, path.name, 0)
    result = doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF).run(test)
    assert not result.failed, capsys.readouterr().out


def plain_blocks() -> Iterator[tuple[str, str]]:
    """Python without prompts, which is shown and not run: with it would have to be shown where tables come from."""
    for path in (*PAGES, ROOT / "README.md"):
        for number, block in enumerate(blocks(path.read_text("utf-8"), "python")):
            if ">>>" not in block:
                yield f"{path.relative_to(ROOT).as_posix()}-{number}", block


PLAIN = dict(plain_blocks())


@pytest.mark.parametrize("name", PLAIN)
def test_python_without_prompts_calls_what_there_is(name: str) -> None:
    calls = [node for node in ast.walk(ast.parse(PLAIN[name])) if isinstance(node, ast.Call)]
    ours = {words: call for call in calls if re.fullmatch(r"(rk|release)[\w.]+", words := ast.unparse(call.func))}
    assert ours
    for words, call in ours.items():
        first, *rest = words.split(".")
        called: Any = rothko if first == "rk" else rothko.Release
        for word in rest:
            if called is rothko.Release and word == "recoding":
                called = rothko.Recoding
                continue
            called = getattr(called, word)
        taken = inspect.signature(called).parameters
        given = {keyword.arg for keyword in call.keywords if keyword.arg}
        if not any(one.kind is inspect.Parameter.VAR_KEYWORD for one in taken.values()):
            assert given <= set(taken), words


@pytest.mark.parametrize("path", [*PAGES, ROOT / "README.md"], ids=lambda path: path.relative_to(ROOT).as_posix())
def test_relative_links_lead_somewhere(path: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", prose(path.read_text("utf-8"))):
        if "://" in link or link.startswith("mailto:"):
            continue
        target, _, anchor = link.partition("#")
        there = (path.parent / target).resolve() if target else path
        assert there.exists(), link
        if anchor and there.suffix == ".md":
            assert anchor in anchors(there.read_text("utf-8")), link


def anchors(text: str) -> set[str]:
    """The headings of a page as they are linked to: small letters, blanks as hyphens, no other signs."""
    titles = re.findall(r"^#+ (.*)$", prose(text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


# ── for whoever changes the code


@pytest.mark.parametrize("path", [ROOT / "CONTRIBUTING.md", DOCS / "architecture.md"], ids=lambda path: path.name)
def test_files_that_are_named_exist(path: Path) -> None:
    words = {word for word in in_backticks(path.read_text()) if "NAME" not in word}
    named = [word for word in words if re.fullmatch(r"[\w./-]+(\.(py|md)|/)", word)]
    there = [word for word in named if (ROOT / word).exists() or (ROOT / "src/rothko" / word).exists()]
    assert len(there) > 10
    assert sorted(set(named) - set(there)) == []


def test_every_ending_of_a_file_is_described() -> None:
    text = (DOCS / "reference/command-line.md").read_text()
    read = {ending for form in read_formats.FORMATS for ending in form.endings}
    for words, endings in (("read", read), ("written", set(written_formats.FORMATS))):
        [line] = re.findall(rf"^Files that are {words}: (.*)$", text, re.MULTILINE)
        assert in_backticks(line) == endings
