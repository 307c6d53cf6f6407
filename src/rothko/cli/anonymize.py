"""``rothko anonymize``: the main job."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rothko.cli import log as log_events
from rothko.cli import options, pipes
from rothko.cli.groups import grouped
from rothko.cli.pipes import files
from rothko.errors import InputError

if TYPE_CHECKING:
    from rothko.policy.policy import Policy
    from rothko.release.certificate import Certificate
    from rothko.release.save import Saved


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("anonymize")(grouped(anonymize))


def anonymize(
    data: options.Data,
    out: Annotated[
        str,
        typer.Option(
            "--out",
            "-o",
            metavar="<path>",
            help="A file (.parquet, .csv, .tsv, .arrow), a folder, or a new table in a database; - is standard output.",
            show_default=False,
        ),
    ],
    *,
    policy: options.PolicyFile = None,
    unfiled: options.InPlaceOfPolicy,
    classify: options.Classify = None,
    regress: options.Regress = None,
    select: options.Select = None,
    aggregate: options.Aggregate = None,
    method: Annotated[
        str | None,
        typer.Option("--method", help="The algorithm.", autocompletion=options.method_names, show_default="auto"),
    ] = None,
    option: options.MethodOption = None,
    relaxed: Annotated[
        bool, typer.Option("--relaxed", help="Let Mondrian split equal values (no recoding then).")
    ] = False,
    minimum_gain: options.MinimumGain = None,
    force: Annotated[bool, typer.Option("--force", help="Let topdown take more than 100,000 records.")] = False,
    suppress: Annotated[
        str | None,
        typer.Option(
            "--suppress",
            help="Records that may be suppressed so that others lose less: a share, such as 0.02, or a number.",
            show_default="none",
        ),
    ] = None,
    suppress_as: Annotated[
        str | None,
        typer.Option(
            "--suppress-as",
            help="What becomes of them: star (* in every quasi-identifier) or left-out.",
            autocompletion=lambda: ["star", "left-out"],
            show_default="star",
        ),
    ] = None,
    publish: Annotated[
        str | None,
        typer.Option(
            "--publish",
            help="range, region, mean or bounds.",
            autocompletion=lambda: ["range", "region", "mean", "bounds"],
            show_default="range",
        ),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            "--engine",
            help="auto, memory, rothko-t, rothko-s or spark.",
            autocompletion=lambda: ["auto", "memory", "rothko-t", "rothko-s", "spark"],
            show_default="auto",
        ),
    ] = None,
    seed: options.Seed = 0,
    key_file: options.KeyFile = None,
    threads: options.Threads = None,
    memory: Annotated[
        str | None,
        typer.Option("--memory", help="What the process may take, such as 2GB; larger tables go to disk."),
    ] = None,
    spill_dir: Annotated[
        Path | None,
        typer.Option("--spill-dir", help="Where engines on disk make their private folder.", show_default=False),
    ] = None,
    spark_master: options.SparkMaster = None,
    text: options.TextFile,
    recoding: Annotated[
        str | None,
        typer.Option(
            "--recoding",
            metavar="<path>",
            help="Where the recoding goes: a .json file or a folder; a folder of its own by default.",
            show_default=False,
        ),
    ] = None,
    if_changed: Annotated[
        bool,
        typer.Option(
            "--if-changed",
            help="Do nothing where input, policy, options and versions are those of the release that is there.",
        ),
    ] = False,
    accept_draft: Annotated[
        bool, typer.Option("--accept-draft", help="Release though a draft has roles that nobody has confirmed.")
    ] = False,
    no_recoding: Annotated[bool, typer.Option("--no-recoding", help="Write no recoding.")] = False,
    report: Annotated[
        bool | None,
        typer.Option(
            "--report/--no-report",
            help="Write a report for everybody beside the data; into a folder by default.",
            show_default=False,
        ),
    ] = None,
    parts: Annotated[
        str | None,
        typer.Option(
            "--parts",
            metavar="<size>",
            help="Write the data as several files of about this size, such as 64MB, in a folder.",
            show_default="one file",
        ),
    ] = None,
    form: options.Form = None,
    certificate: Annotated[
        str | None,
        typer.Option(
            "--certificate",
            metavar="<path>",
            help="Where the certificate of a table in a database goes, and with --out - that of the release.",
            show_default=False,
        ),
    ] = None,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    log: options.Log = None,
    show_values: options.ShowValues = False,
    debug: options.Debug = False,
) -> None:
    """Release a table: verified data, its certificate and its recoding.

    With a policy file, or without one: --qi age,sex --sensitive disease --drop name --k 10 --l 3. Every column must be
    named then, those that leave as they are with --keep. --classify, --regress, --select and --aggregate add to the
    workload of a policy file.
    """
    from rothko.cli import console
    from rothko.data.schema import match
    from rothko.data.source.database.url import is_database
    from rothko.data.source.listing import files_named
    from rothko.engines.plan import as_bytes
    from rothko.flow import prepare, reported
    from rothko.policy.asked import Asked
    from rothko.policy.confirm import refuse_unconfirmed
    from rothko.policy.decided import method_for
    from rothko.policy.draft import as_policy
    from rothko.policy.opened import where_it_lies
    from rothko.release.claims import claim_files
    from rothko.release.place import place_of
    from rothko.release.rerun import Run
    from rothko.release.staging import staging

    if recoding is not None and no_recoding:
        raise InputError("--recoding and --no-recoding exclude each other; give one of them.")
    piped = out == "-"
    if not piped and form is not None:
        raise InputError("--format goes with --out -, standard output.")
    if certificate is not None and not piped and not is_database(out):
        raise InputError("--certificate goes with --out -, standard output, and with a table in a database.")
    if piped:
        if as_json or report or parts is not None:
            what = "--json" if as_json else "--report" if report else "--parts"
            raise InputError(f"{what} does not go with --out -: standard output has the release, and nothing else.")
        out, report, no_recoding = str(pipes.standard_output(form or "csv")), False, recoding is None
    claimed = claim_files([certificate] if piped and certificate else [], overwrite=overwrite, inputs=files(*data))
    csv, whole = text.options(), pipes.table_of(data)
    words = unfiled.words() | options.workload(classify, regress, select, aggregate)
    own = option or relaxed or minimum_gain is not None or force
    # Options of a method that is not named are those of mondrian.
    chosen = ("mondrian" if own else "auto") if policy is None else None
    words |= {"method": method or chosen, "publish": publish, "suppress": options.suppressed(suppress, suppress_as)}
    known = None if policy is None else as_policy(policy)
    if known is not None and not accept_draft:
        refuse_unconfirmed(known, policy)
    there = where_it_lies(whole, known, engine, spark_master=spark_master, csv=csv)
    table = Asked.of(there, known, words, csv=csv)
    gain = options.number("--minimum-gain", minimum_gain, 0)
    given = options.parameters("--option", option, relaxed=relaxed or None, minimum_gain=gain, force=force or None)
    asked = _with_options(table.policy, given)
    run = None
    if if_changed:
        if piped:
            raise InputError("--if-changed is for a release that stays, and standard output keeps none; name a file.")
        beside = {
            "engine": engine, "seed": seed, "key": _hashed(options.key(key_file)), "memory": as_bytes(memory),
            "csv": str(csv), "parts": parts, "recoding": str(recoding), "no_recoding": no_recoding, "report": report,
            "words": repr(table.words),
        }  # fmt: skip
        run = Run.of(
            whole, asked, out, source=lambda: table.source, options=beside, certificate=certificate
        )  # fmt: skip
        if (made := run.unchanged()) is not None:
            _show_unchanged(pipes.named(out), made, as_json)
            return
    to_be = recoding is not None
    makes = method_for(asked, engine, recoding=to_be)
    if piped and (makes.two_tables or there is not whole):
        what = "anatomy writes two tables" if makes.two_tables else "engine spark writes several files"
        raise InputError(f"Standard output takes one file, and {what}; name a folder.")
    if is_database(out):  # the table is opened first: a place that this run reads from is refused before any work
        match(table.source.names, asked, table.source.label)
    place = place_of(
        out, files_named(whole), asked,
        recoding=False if no_recoding or not makes.recodes else recoding or True, two_tables=makes.two_tables,
        overwrite=overwrite, inputs=[] if policy is None else [policy], in_parts=there is not whole, report=report,
        reporter=reported, parts=as_bytes(parts, "--parts"),
        certificate=None if piped else certificate,
    )  # fmt: skip
    if policy is None:  # only now: it takes a pass over the data
        asked = _with_options(table.settled(), given)
        if not as_json:
            _tell_roles(table.policy, asked)
    with console.progress(quiet=as_json) as told:
        release = prepare(
            table.source, asked, engine=engine, seed=seed, key=options.key(key_file), threads=threads, memory=memory,
            spill_dir=spill_dir, accept_draft=True, progress=told, recoding=to_be,
        )  # fmt: skip
        told("save", 0, 1)
        saved = release.save(place)
        told("save", 1, 1)
    if run is not None:
        recoded = saved.certificate.recoding.values()
        run.keep(dict(zip(saved.recoding_files, recoded, strict=True)))
    log_events.counted(saved.certificate.verification.rows)
    if piped and certificate is not None:
        with staging(claimed) as stage:
            stage.write(Path(certificate), saved.certificate_path.read_text(encoding="utf-8"))
            stage.commit()
        saved = saved._replace(certificate_path=Path(certificate))
    _show(saved, as_json, piped=piped, unchanged=None if run is None else False)
    if piped:
        pipes.send(saved.data)


def _hashed(key: bytes | None) -> str | None:
    return None if key is None else hashlib.sha256(key).hexdigest()


def _show_unchanged(out: str, certificate: Mapping[str, Any], as_json: bool) -> None:
    """Say that there is nothing to do."""
    from rothko.cli import console

    if as_json:
        console.json({**certificate, "unchanged": True})
        return
    console.out.print(
        f"Unchanged: {out} was made from this input, policy, options and version; nothing to do.", markup=False
    )


def _tell_roles(named: Policy, settled: Policy) -> None:
    """Say what leaves as it is, and what a look at the values has found."""
    from rothko.cli import console

    if settled.kept:
        console.err.print(f"Released as they are: {', '.join(settled.kept)}", markup=False)
    for name, column in settled.columns.items():
        if column.type != named.columns[name].type:
            console.err.print(f"{name}: text that is read as a {column.type}", markup=False)


def _with_options(policy: Policy, given: dict[str, Any]) -> Policy:
    """The policy with other values of some options of its method."""
    if not given:
        return policy
    method = policy.method
    if method.name == "auto":
        raise InputError(f"method: auto has no option {next(iter(given))!r}; say with --method which method takes it.")
    return policy.but(method={method.name: {p.name: getattr(method, p.name) for p in fields(method)} | given})


def _show(saved: Saved[Certificate], as_json: bool, *, piped: bool, unchanged: bool | None = None) -> None:
    """The verdict, as the certificate of the written bytes has it; on standard error where these go to the other."""
    from rothko.cli import console
    from rothko.data.address import address

    if as_json:
        console.json(saved.certificate.to_dict() | ({} if unchanged is None else {"unchanged": unchanged}))
        return
    to = console.err if piped else console.out
    certificate = saved.certificate
    to.print(console.requirements(certificate.verification))
    to.print()
    to.print(console.losses(certificate.loss))
    to.print()
    seconds = sum(certificate.timings.values())
    to.print(
        f"{certificate.verification.rows:,} records in {seconds:.2f} s, verified on the written bytes "
        f"(engine {certificate.engine}: {certificate.engine_reason}).",
        markup=False,
    )
    for note in certificate.notes:
        to.print(note, markup=False)
    if saved.report_failed is not None:
        failed = f"Its report could not be made ({saved.report_failed}); rothko report --debug shows where."
        console.err.print(failed, markup=False)
    released: tuple[Path | None, ...] = (
        saved.data, saved.sensitive_path, saved.certificate_path, saved.report_path
    )  # fmt: skip
    if piped:
        kept = saved.certificate_path.parent != saved.data.parent
        released = (saved.certificate_path,) if kept else ()
        if not kept:
            to.print("Nothing is kept of its certificate; --certificate names a file for it.")
    for path in (*released, *saved.recoding_files):
        if path is not None:
            to.print(address(path), markup=False)
    files = len(saved.recoding_files)
    if files > 1:
        to.print(f"The last {files} files are the recoding: keep them in one folder.")
