"""For what: the workload of the release, and methods side by side, of which one is picked."""

from __future__ import annotations

from typing import Any

from rothko.errors import InputError
from rothko.methods import METHODS
from rothko.policy.varied import varied
from rothko.report.page import Html, text
from rothko.studio.desk import Desk
from rothko.studio.markup import act, button, chosen, element, field, form, joined, part, problem, strict
from rothko.studio.views.running import stages
from rothko.studio.views.view import Fragments, Given, View
from rothko.workload.tasks import FUNCTIONS, Aggregate, Classify, Regress, Select

COMPARED = ("mondrian", "hilbert", "cluster")
PUBLISH = {
    "range": "the smallest range around a class: [20, 35]",
    "region": "the region that was cut: [20, 40)",
    "mean": "the mean of a class",
    "bounds": "two columns, the smallest and the largest value",
}


def body(desk: Desk) -> Html:
    """The view."""
    return joined(
        [
            element("h1", "For what"),
            element(
                "p",
                "Of all releases that hold the requirements, the one is made that serves best what you name here.",
                class_="lead",
            ),
            element("div", _workload(desk), _how(desk), class_="beside even"),
            _compare(desk),
            comparison(desk),
            element("p", element("a", "Next: make the release", href="/run", class_="go")),
        ]
    )


def _workload(desk: Desk) -> Html:
    policy = desk.policy
    tasks = [
        element(
            "li",
            element("span", task.describe()),
            act(
                "purpose/remove",
                "Remove",
                about=f"Remove {task.describe()}",
                kind="small",
                values={"at": at, "task": task.describe()},
            ),
        )
        for at, task in enumerate(policy.workload)
    ]
    listed = (
        element("ul", *tasks, class_="plain tasks")
        if tasks
        else text("No use is named: as little as possible is lost, whatever is asked of it.", faint=True)
    )
    targets = [(name, name) for name in (*policy.sensitive, *policy.kept)]
    numbers = [(name, name) for name in policy.quasi_identifiers if _numeric(desk, name)]
    forms = []
    if targets:
        forms.append(
            form(
                "purpose/predict",
                chosen("target", targets, None, label="A model will predict", shown=True),
                chosen("task", [("classify", "its class"), ("regress", "its number")], None, label="as", shown=True),
                button("Add"),
                class_="row",
            )
        )
    forms.append(
        form(
            "purpose/select",
            field(
                "where",
                label="Records will be selected by",
                placeholder="age >= 40 and sex = 'female'",
                required=True,
                size=32,
            ),
            button("Add"),
            class_="row",
        )
    )
    if numbers:
        forms.append(
            form(
                "purpose/aggregate",
                chosen("of", numbers, None, label="Totals will be asked of", shown=True),
                chosen(
                    "function",
                    [("", "all functions"), *((one, one) for one in FUNCTIONS)],
                    None,
                    label="as",
                    shown=True,
                ),
                button("Add"),
                class_="row",
            )
        )
    return element("section", element("h2", "What it will be used for"), listed, *forms)


def _numeric(desk: Desk, name: str) -> bool:
    proposal = next((one for one in desk.seen.draft.proposals if one.name == name), None)
    return proposal is not None and "number" in proposal.type and desk.policy.columns[name].type != "text"


def _how(desk: Desk) -> Html:
    policy = desk.policy
    methods = [("auto", "auto: what loses least for what is asked"), *((name, name) for name in METHODS)]
    return element(
        "section",
        element("h2", "How it is made"),
        form(
            "purpose/how",
            chosen("method", methods, policy.method.name, label="Method", shown=True, id_="method"),
            chosen("publish", list(PUBLISH.items()), policy.publish, label="Ranges are published as", shown=True),
            live=True,
            class_="column",
        ),
    )


def _compare(desk: Desk) -> Html:
    picked = desk.notes.get("compared", COMPARED)
    boxes = [
        element(
            "label",
            element("input", type="checkbox", name="method", value=name, checked=name in picked or None),
            name,
            class_="box",
        )
        for name in METHODS
        if name not in ("anatomy", "topdown")
    ]
    return element(
        "section",
        element("h2", "Privacy against loss"),
        text("Runs methods at several k on this table, and shows what each loses. Nothing is released.", faint=True),
        form(
            "purpose/compare",
            element("fieldset", element("legend", "Methods"), *boxes),
            field("k", desk.notes.get("compared-k", "2, 5, 10, 20, 50"), label="k", size=18),
            button("Compare", kind="quiet", disabled=desk.makes_now or None),
            class_="row",
        ),
    )


def comparison(desk: Desk) -> Html:
    """The frontier, of which a point is picked."""
    fact = desk.comparison
    if fact.waiting:
        return part("comparison", stages(fact.stages), act("purpose/cancel", "Cancel", kind="quiet"))
    if fact.error:
        return part("comparison", problem(fact.error))
    if fact.value is None:
        return part("comparison")
    found = fact.value.frontier
    rows = []
    for at, trial in enumerate(found.trials, 1):
        name = trial.told(found.by)
        loss = "–" if trial.lost is None else f"{trial.lost:.4f}"
        seconds = "–" if trial.partition_seconds is None else _time(trial.partition_seconds)
        pick = (
            act("purpose/pick", "Pick", about=f"Pick {name}", kind="small", values={"trial": at})
            if trial.lost is not None
            else element("span", trial.reason or "", class_="faint")
        )
        here = trial.method == desk.policy.method.name and trial.k == _k(desk)
        rows.append(
            element(
                "tr",
                element("th", name, scope="row"),
                element("td", loss, class_="n"),
                element("td", seconds, class_="n"),
                element("td", pick),
                class_="here" if here else None,
            )
        )
    head = element(
        "tr",
        element("th", "trial", scope="col"),
        element("th", "GCP", scope="col", class_="n"),
        element("th", "partition", scope="col", class_="n"),
        element("th", "policy", scope="col"),
    )
    table = element(
        "div",
        element("table", element("caption", "Every trial"), element("thead", head), element("tbody", *rows)),
        class_="scroll",
        tabindex="0",
        role="region",
        aria_label="Every trial",
    )
    return part(
        "comparison",
        text("Choose a point: its k and its method become those of the policy.", faint=True),
        element(
            "div", element("div", strict(Html(fact.value.plot)), data_picks="purpose/pick"), table, class_="beside even"
        ),
    )


def _time(seconds: float) -> str:
    """How long something took, short."""
    return f"{seconds:.2f} s" if seconds >= 0.1 else f"{seconds * 1000:.0f} ms"


def _k(desk: Desk) -> Any:
    return max((one.k for one in desk.policy.privacy if hasattr(one, "k")), default=None)


def _task(desk: Desk, task: Any) -> None:
    if task in desk.policy.workload:
        raise InputError(f"{task.describe()!r} is in the workload already.")
    desk.edit(desk.policy.but(workload=(*desk.policy.workload, task)), f"workload: {task.describe()}")


def predict(desk: Desk, given: Given) -> Fragments:
    """A model."""
    name, target = given.one("task", "classify"), given.one("target")
    if name not in ("classify", "regress") or target not in desk.policy.columns:
        raise InputError("Choose a column that is released as it is, to be predicted.")
    _task(desk, Classify(target) if name == "classify" else Regress(target))
    return None


def select(desk: Desk, given: Given) -> Fragments:
    """A selection."""
    _task(desk, Select(given.one("where")))
    return None


def aggregate(desk: Desk, given: Given) -> Fragments:
    """Totals."""
    function = next((one for one in FUNCTIONS if one == given.one("function")), None)
    _task(desk, Aggregate(given.one("of"), (function,) if function else FUNCTIONS))
    return None


def remove(desk: Desk, given: Given) -> Fragments:
    """One task less."""
    at = given.whole("at", least=0)
    if at >= len(desk.policy.workload) or desk.policy.workload[at].describe() != given.one("task"):
        raise InputError("The workload has changed since this page was made; look at it again.")
    gone = desk.policy.workload[at]
    desk.edit(
        desk.policy.but(workload=tuple(one for one in desk.policy.workload if one is not gone)), f"no {gone.describe()}"
    )
    return None


def how(desk: Desk, given: Given) -> Fragments:
    """Another method, or another published form."""
    method, publish = given.one("method", "auto"), given.one("publish", "range")
    asked = desk.policy.method if method == desk.policy.method.name else method
    changed = desk.policy.but(method=asked, publish=publish)
    changed.method.check(changed)
    desk.edit(changed, f"method {method}" if method != desk.policy.method.name else f"publish {publish}")
    return None


def compare(desk: Desk, given: Given) -> Fragments:
    """Begin to compare."""
    methods = [name for name in given.many("method") if name in METHODS]
    if not methods:
        raise InputError("Choose at least one method to compare.")
    words = [word for word in given.one("k").replace(";", ",").split(",") if word.strip()]
    ks = [Given(k=[word]).whole("k", least=2) for word in words]
    if not ks or len(ks) > 12:
        raise InputError("Write one to twelve k, with commas between them: 2, 5, 10.")
    desk.notes["compared"], desk.notes["compared-k"] = tuple(methods), given.one("k")
    desk.compare(methods=methods, k=sorted(set(ks)))
    return [comparison(desk)]


def cancel(desk: Desk, given: Given) -> Fragments:
    """Stop comparing."""
    desk.cancel()
    return None


def pick(desk: Desk, given: Given) -> Fragments:
    """Take the k and the method of a trial."""
    fact = desk.comparison
    at = given.whole("trial", least=1)
    if fact.value is None or at > len(fact.value.frontier.trials):
        raise InputError("The comparison has changed since this page was made; look at it again.")
    trial = fact.value.frontier.trials[at - 1]
    changed = varied(desk.policy, "k", int(trial.k)).but(
        method=trial.method if trial.method != desk.policy.method.name else desk.policy.method
    )
    desk.edit(changed, f"{trial.method} at k = {trial.k}")
    return None


VIEW = View(
    "purpose",
    "For what",
    body,
    actions={
        "predict": predict,
        "select": select,
        "aggregate": aggregate,
        "remove": remove,
        "how": how,
        "compare": compare,
        "pick": pick,
        "cancel": cancel,
    },
    parts={"comparison": comparison},
    about="Here you say what the release is for, and compare what methods lose at several k.",
)
