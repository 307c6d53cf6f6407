"""The policy: what is accepted, how mistakes are told, and that what is written is read back."""

import hashlib
import pickle
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from rothko import policy as policy_module
from rothko.data.hierarchy.spec import HierarchySpec
from rothko.data.schema import Role
from rothko.engines import ENGINES, Auto, RothkoS, RothkoT
from rothko.errors import OutputError, PolicyError
from rothko.policy.column import Column
from rothko.policy.policy import Policy
from rothko.privacy import DistinctLDiversity, KAnonymity

EXAMPLE = """\
columns:
  name:       {role: identifier}
  age:        {role: quasi-identifier}
  zip:        {role: quasi-identifier, hierarchy: {mask: right}}
  education:  {role: quasi-identifier, hierarchy: education.csv, weight: 2}
  occupation: {role: sensitive}
  salary:     {role: keep}
privacy:
  - k-anonymity: {k: 10}
  - distinct-l-diversity: {l: 3, of: occupation}
method: mondrian            # or {mondrian: {relaxed: true}}
publish: range
engine: auto
"""
SMALL = """\
columns:
  age: {role: quasi-identifier}
  disease: {role: sensitive}
privacy:
  - k-anonymity: {k: 10}
"""


def told(text, where="policy.yaml"):
    with pytest.raises(PolicyError) as caught:
        Policy.parse(text, where=where)
    assert type(caught.value) is PolicyError
    assert "\n" not in str(caught.value)
    return str(caught.value)


def with_column(column, extra=""):
    return f"columns:\n  age: {{role: quasi-identifier}}\n  x: {column}\nprivacy:\n  - k-anonymity: {{k: 10}}\n{extra}"


# --- reading -----------------------------------------------------------------------------------------


def test_the_design_example():
    policy = Policy.parse(EXAMPLE)
    assert list(policy.columns) == ["name", "age", "zip", "education", "occupation", "salary"]
    assert policy.identifiers == ("name",)
    assert policy.quasi_identifiers == ("age", "zip", "education")
    assert policy.sensitive == ("occupation",)
    assert policy.kept == ("salary",)
    assert policy.privacy == (KAnonymity(k=10), DistinctLDiversity(l=3, of="occupation"))
    assert policy.columns["zip"].hierarchy == HierarchySpec("mask", "right")
    assert policy.columns["education"].weight == 2
    assert policy.method.name == "mondrian"


def test_defaults():
    policy = Policy.parse(SMALL)
    assert (policy.publish, policy.engine, policy.order) == ("range", Auto(), "random")
    assert (policy.missing, policy.workload, policy.method.relaxed) == ((), (), False)
    assert policy.columns["age"] == Column(role=Role.QUASI_IDENTIFIER)


def test_python_and_yaml_are_the_same():
    built = Policy(
        columns={"age": Column(role=Role.QUASI_IDENTIFIER), "disease": {"role": "sensitive"}},
        privacy=[KAnonymity(k=10)],
    )
    assert built == Policy.parse(SMALL)
    assert hash(built) == hash(Policy.parse(SMALL))
    assert pickle.loads(pickle.dumps(built)) == built


def test_method_with_options():
    assert Policy.parse(SMALL + "method: {mondrian: {relaxed: true}}").method.relaxed
    assert Policy.parse(SMALL + "method: {mondrian: }").method == Policy.parse(SMALL).method


def test_engine_with_options():
    written = SMALL + "engine: {rothko-s: {test: normal, alpha: 0.01}}\n"
    policy = Policy.parse(written)
    assert policy.engine == RothkoS(test="normal", alpha=0.01)
    assert policy.dump().endswith("publish: range\nengine: {rothko-s: {test: normal, alpha: 0.01}}\n")
    assert Policy.parse(SMALL).but(engine=policy.engine) == policy
    assert Policy.parse(SMALL).but(engine={"rothko-s": {"test": "normal", "alpha": 0.01}}) == policy
    assert Policy.quick(["age"], qi=["age"], k=2, engine="rothko-t").engine == RothkoT()


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_without_options_is_its_name(name):
    policy = Policy.parse(SMALL + f"engine: {{{name}: }}")
    assert policy.engine == ENGINES[name]()
    assert policy.dump().endswith(f"\nengine: {name}\n")
    assert policy == Policy.parse(SMALL + f"engine: {name}")


def test_names_are_text_as_written():
    policy = Policy.parse("""
columns:
  no: {role: quasi-identifier, order: [no, 1, null, 2019-01-01, 1e-3, '']}
  2019: {role: quasi-identifier}
  2020-01-01: {role: sensitive}
  null: {role: keep}
  ~: {role: keep}
  on: {role: quasi-identifier, hierarchy: {tree: {no: [yes, 1.0], 2: [null]}}}
privacy:
  - distinct-l-diversity: {l: 2, of: 2020-01-01, over: [no, 2019]}
missing: [NA, 1, null, no, 1.50]
""")
    assert list(policy.columns) == ["no", "2019", "2020-01-01", "null", "~", "on"]
    assert policy.columns["no"].order == ("no", "1", "null", "2019-01-01", "1e-3", "")
    assert policy.columns["on"].hierarchy.value == (("no", ("yes", "1.0")), ("2", ("null",)))
    assert policy.privacy[0] == DistinctLDiversity(l=2, of="2020-01-01", over=("no", "2019"))
    assert policy.missing == ("NA", "1", "null", "no", "1.50")
    assert Policy.parse(policy.dump()) == policy


def test_numbers_without_a_point():
    assert Policy.parse(with_column("{role: quasi-identifier, weight: 1e-3}")).columns["x"].weight == 0.001


def test_anchors_are_understood():
    policy = Policy.parse("columns: {a: &qi {role: quasi-identifier}, b: *qi}\nprivacy: [{k-anonymity: {k: 2}}]")
    assert policy.quasi_identifiers == ("a", "b")


def test_empty_workload_is_no_workload():
    assert Policy.parse(SMALL + "workload: []") == Policy.parse(SMALL + "workload:") == Policy.parse(SMALL)


def test_importing_a_policy_is_light():
    code = "import sys, rothko.policy.policy; sys.exit(' '.join({'numba', 'pyarrow', 'duckdb'} & set(sys.modules)))"
    path = str(Path(policy_module.__file__).parents[2])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": path})
    assert done.stderr.strip() == ""


# --- hierarchies -------------------------------------------------------------------------------------

FORMS = {
    "flat": HierarchySpec("flat"),
    "auto": HierarchySpec("auto"),
    "education.csv": HierarchySpec("csv", "education.csv"),
    "folder/education.tsv": HierarchySpec("csv", "folder/education.tsv"),
    "{mask: left}": HierarchySpec("mask", "left"),
    "icd-10": HierarchySpec("icd-10"),
    "{intervals: [5, 10, 20]}": HierarchySpec("intervals", (5, 10, 20)),
    "{intervals: [0.5, 1]}": HierarchySpec("intervals", (0.5, 1)),
    "{breaks: [18, 40, 65]}": HierarchySpec("breaks", ((18, 40, 65),)),
    "{breaks: [[18, 40, 65], [40]]}": HierarchySpec("breaks", ((18, 40, 65), (40,))),
    "{dates: [month, year]}": HierarchySpec("dates", ("month", "year")),
    "{tree: {Europe: [France, Spain], Asia: [Japan]}}": HierarchySpec(
        "tree", (("Europe", ("France", "Spain")), ("Asia", ("Japan",)))
    ),
    "{tree: [Other, {Europe: [France, {Iberia: [Spain]}]}]}": HierarchySpec(
        "tree", ("Other", ("Europe", ("France", ("Iberia", ("Spain",)))))
    ),
    "{csv: e.csv, delimiter: ;, encoding: latin-1}": HierarchySpec("csv", "e.csv", delimiter=";", encoding="latin-1"),
    "{csv: flat}": HierarchySpec("csv", "flat"),
}


@pytest.mark.parametrize(("written", "spec"), FORMS.items(), ids=FORMS)
def test_hierarchy_forms(written, spec):
    policy = Policy.parse(with_column(f"{{role: quasi-identifier, hierarchy: {written}}}"))
    assert policy.columns["x"].hierarchy == spec
    assert hash(spec) == hash(policy.columns["x"].hierarchy)
    assert replace(spec, folder=Path("/elsewhere")) == spec
    # The short form is the one that was written.
    assert spec.short() == yaml.safe_load(written)
    assert f"hierarchy: {written}" in policy.dump().replace("';'", ";")


def test_a_whole_file_name_mapping_is_shortened():
    assert HierarchySpec.of({"csv": "e.csv", "encoding": "utf-8"}).short() == "e.csv"
    assert HierarchySpec.of(Path("e.csv")).short() == "e.csv"


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("3", "a hierarchy is a file name, flat, auto, icd-10 or a mapping such as {mask: right}, not 3"),
        ("mask", "'mask' needs a value; write {mask: right}"),
        ("{maks: right}", "unknown key 'maks'; did you mean 'mask'?"),
        ("{mask: up}", ".mask: must be right or left, not 'up'"),
        ("{mask: right, flat: }", "'mask' and 'flat' exclude each other"),
        ("{mask: right, delimiter: ;}", "'delimiter' and 'encoding' are only for a csv file"),
        ("{csv: a.csv, delimeter: ;}", "unknown key 'delimeter'; did you mean 'delimiter'?"),
        ("{csv: a.csv, delimiter: ab}", ".delimiter: must be one character, not 'ab'"),
        ("{csv: a.csv, encoding: utf-9}", ".encoding: 'utf-9' is not a text encoding"),
        ("{csv: ''}", ".csv: must be the name of a file"),
        ("{intervals: 5}", ".intervals: must be a list of numbers, not 5"),
        ("{intervals: []}", ".intervals: must be a list of numbers, not a list"),
        ("{intervals: [5, ten]}", ".intervals: must be finite numbers only"),
        ("{intervals: [5, true]}", ".intervals: must be finite numbers only"),
        ("{intervals: [5, .inf]}", ".intervals: must be finite numbers only"),
        ("{intervals: [10, 5]}", ".intervals: must rise from each number to the next"),
        ("{intervals: [0, 5]}", ".intervals: a width must be above 0, not 0"),
        ("{breaks: [[1, 2], [2, 2]]}", ".breaks[1]: must rise"),
        ("{breaks: [1, [2]]}", ".breaks: must be finite numbers only"),
        ("{dates: month}", ".dates: must be a list of units such as [month, year], not 'month'"),
        ("{dates: [moth]}", ".dates[0]: 'moth' is not a unit; did you mean 'month'?"),
        ("{dates: [year, month]}", ".dates: must rise from short to long units"),
        ("{tree: [Secret, Secret]}", ".tree: 1 of 1 leaves stand at more than one place"),
        ("{tree: {Secret: Secret}}", ".tree: a label must have a mapping or a list of labels below it"),
        ("{tree: {Secret: []}}", ".tree: a label must have a mapping or a list of labels below it"),
        ("{tree: [[Secret]]}", ".tree: labels must be text"),
        ("{tree: [{Secret: [a]}, {Secret: [b]}]}", ".tree: two branches beside each other have the same label"),
    ],
)
def test_wrong_hierarchies(written, message):
    error = told(with_column(f"{{role: quasi-identifier, hierarchy: {written}}}"))
    assert error.startswith("policy.yaml, line 3, columns.x.hierarchy")
    assert message in error
    assert "Secret" not in error  # labels are values of the data


def test_wrong_hierarchy_in_python():
    with pytest.raises(PolicyError, match="'maks' is not a kind of hierarchy; did you mean 'mask'"):
        HierarchySpec("maks", "right")
    assert HierarchySpec.of("ICD10") == HierarchySpec("icd-10")
    with pytest.raises(PolicyError, match="flat, auto and icd-10 take no value"):
        HierarchySpec("flat", 1)


# --- mistakes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("{role: quasi}", "columns.x.role: 'quasi' is not a role; did you mean 'quasi-identifier'?"),
        (
            "{role: 3}",
            "columns.x.role: 3 is not a role; there are 'identifier', 'quasi-identifier', 'sensitive', 'keep'",
        ),
        ("{rol: keep, role: keep}", "columns.x: unknown key 'rol'; did you mean 'role'?"),
        ("{}", "columns.x: the key 'role' is missing; add it, one of identifier, quasi-identifier, sensitive, keep"),
        ("keep", "columns.x: a column is a mapping such as {role: keep}, not 'keep'"),
        ("", "columns.x: a column is a mapping such as {role: keep}, not null"),
        (
            "{role: identifier, type: number}",
            "columns.x: 'type' is only for role: quasi-identifier, sensitive or keep, this column is 'identifier'",
        ),
        ("{role: keep, order: [a]}", "columns.x: 'order' is only for role: quasi-identifier, this column is 'keep'"),
        ("{role: sensitive, weight: 2}", "columns.x: 'weight' is only for role: quasi-identifier"),
        ("{role: identifier, hierarchy: flat}", "columns.x: 'hierarchy' is only for role: quasi-identifier"),
        ("{role: quasi-identifier, type: numbr}", "columns.x.type: 'numbr' is not a type; did you mean 'number'?"),
        ("{role: quasi-identifier, weight: 0}", "columns.x.weight: must be a number above 0, not 0"),
        ("{role: quasi-identifier, weight: .nan}", "columns.x.weight: must be a number above 0, not nan"),
        ("{role: quasi-identifier, weight: .inf}", "columns.x.weight: must be a number above 0, not inf"),
        ("{role: quasi-identifier, weight: '2'}", "columns.x.weight: must be a number above 0, not '2'"),
        ("{role: quasi-identifier, weight: true}", "columns.x.weight: must be a number above 0, not true"),
        ("{role: quasi-identifier, order: low}", "columns.x.order: must be a list, not 'low'"),
        ("{role: quasi-identifier, order: []}", "columns.x.order: must list every value once"),
        ("{role: quasi-identifier, order: [a, a]}", "columns.x.order: must list every value once"),
        ("{role: quasi-identifier, order: [[a]]}", "columns.x.order[0]: must be text, not a list"),
        ("{role: quasi-identifier, order: [a], hierarchy: flat}", "columns.x: 'hierarchy' and 'order' exclude"),
        ("{role: quasi-identifier, order: [a], type: date}", "columns.x: only text takes 'order'"),
    ],
)
def test_wrong_columns(column, message):
    error = told(with_column(column))
    assert error.startswith(f"policy.yaml, line 3, {message}")
    assert "more mistake" not in error


@pytest.mark.parametrize("column", ["{role: sensitive, type: number}", "{role: keep, weight: 1, type: number}"])
def test_what_other_roles_may_say(column):
    Policy.parse(with_column(column))


@pytest.mark.parametrize(
    ("privacy", "message"),
    [
        ("- k-anonimity: {k: 10}", ", privacy[0]: 'k-anonimity' is not a requirement; did you mean 'k-anonymity'?"),
        ("- k-anonymity: {kk: 10, k: 2}", ", privacy[0].k-anonymity: unknown parameter 'kk'; did you mean 'k'?"),
        ("- k-anonymity: {}", ", privacy[0].k-anonymity: the parameter 'k' is missing; write {k-anonymity: {k: …}}"),
        ("- k-anonymity", ", privacy[0].k-anonymity: the parameter 'k' is missing"),
        ("- k-anonymity: 10", ", privacy[0].k-anonymity: the parameters are a mapping such as {k: …}, not 10"),
        ("- k-anonymity: {k: 1}", ", privacy[0].k-anonymity: k must be a whole number of at least 2, not 1"),
        ("- k-anonymity: {k: ten}", ", privacy[0].k-anonymity: k must be a whole number of at least 2, not 'ten'"),
        ("- {k-anonymity: {k: 2}, x: {}}", ", privacy[0]: a requirement is one name and its parameters"),
        ("- 10", ", privacy[0]: a requirement is one name and its parameters"),
        ("  k-anonymity: {k: 2}", ", privacy: must be a list, not a mapping"),
        ("  []", ", privacy: must hold at least one requirement, for example privacy: [{k-anonymity: {k: 10}}]"),
        (
            "- distinct-l-diversity: {l: 2, of: diseas}",
            "'diseas' is not a column of the policy; did you mean 'disease'?",
        ),
        (
            "- distinct-l-diversity: {l: 2, of: age}",
            ".of: the column 'age' must be sensitive and is 'quasi-identifier'; there are 'disease'",
        ),
        ("- distinct-l-diversity: {l: 2, of: {a: b}}", ".of: must be the name of a column, not a mapping"),
        (
            "- k-anonymity: {k: 2, over: [disease]}",
            ".over: the column 'disease' must be quasi-identifier and is 'sensitive'; there are 'age'",
        ),
        ("- k-anonymity: {k: 2, over: [aged]}", ".over: 'aged' is not a column of the policy; did you mean 'age'?"),
    ],
)
def test_wrong_privacy(privacy, message):
    columns = "columns: {age: {role: quasi-identifier}, disease: {role: sensitive}}\n"
    error = told(f"{columns}privacy:\n  {privacy}\n")
    assert error.startswith("policy.yaml, line ")
    assert message in error


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("methd: mondrian", "unknown key 'methd'; did you mean 'method'?"),
        ("<<: {}", "unknown key '<<'; there are 'columns', 'privacy'"),
        ("publish: rang", "publish: 'rang' is not a published form; did you mean 'range'?"),
        ("order: kep", "order: 'kep' is not an order of rows; did you mean 'keep'?"),
        ("engine: memry", "engine: 'memry' is not an engine; did you mean 'memory'?"),
        ("engine: 3", "engine: an engine is one name and its parameters, {name: {parameter: value}}, not 3"),
        ("engine: {rothko-s: {tset: naive}}", "engine.rothko-s: unknown parameter 'tset'; did you mean 'test'?"),
        ("engine: {rothko-s: {test: t}}", "engine.rothko-s: test must be exact, normal or naive, not 't'"),
        ("engine: {rothko-s: {test: [t]}}", "engine.rothko-s: test must be exact, normal or naive, not ('t',)"),
        (
            "engine: {rothko-s: {alpha: 0}}",
            "engine.rothko-s: alpha must be a number above 0 and at most 0.5, not 0",
        ),
        (
            "engine: {rothko-s: {alpha: 0.6}}",
            "engine.rothko-s: alpha must be a number above 0 and at most 0.5, not 0.6",
        ),
        ("engine: {memory: {alpha: 0.1}}", "engine.memory: unknown parameter 'alpha'; there are none"),
        ("missing: NA", "missing: must be a list, not 'NA'"),
        ("method: mondrain", "method: 'mondrain' is not a method; did you mean 'mondrian'?"),
        ("method: {mondrian: {relax: true}}", "method.mondrian: unknown parameter 'relax'; did you mean 'relaxed'?"),
        ("method:", "method: a method is one name and its parameters, {name: {parameter: value}}, not null"),
        (
            "workload: [{classify: {target: age}}]",
            "workload[0].classify.target: the column 'age' is 'quasi-identifier'",
        ),
    ],
)
def test_wrong_settings(line, message):
    separator = ": " if message.startswith("unknown key") else ", "
    assert told(SMALL + line).startswith(f"policy.yaml, line 6{separator}{message}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "policy.yaml: expected a mapping that begins with 'columns:', found nothing"),
        ("- a", "policy.yaml: expected a mapping that begins with 'columns:', found a list"),
        ("a", "policy.yaml: expected a mapping that begins with 'columns:', found a single value"),
        ("a: 1\nb: [", "policy.yaml, line 2: not valid YAML: "),
        ("a: 1\n\tb: 2", "policy.yaml, line 2: not valid YAML: "),
        ("a: 1\nb: \x01", "policy.yaml, line 2: not valid YAML: it holds a control character"),
        ("a: *b", "policy.yaml, line 1: not valid YAML: found undefined alias"),
        ("a: 1\n---\nb: 2", "policy.yaml, line 2: not valid YAML: "),
        ("a: !!python/object:os.system x", "policy.yaml, line 1: not valid YAML: could not determine a constructor"),
        ("a: 1\nb: 2019-02-31", "policy.yaml, line 2: not a valid date or number; put it in quotes if it is text"),
        ("? [a]\n: 1", "policy.yaml, line 1: a key must be a name, found a list"),
        ("columns:\n  a: {}\n  a: {}", "policy.yaml, line 3: the key 'a' is already on line 2; keep one of them"),
        ("a: &a [*a]", "policy.yaml: not a policy: it is nested too deeply, or within itself"),
        ("a: " + "[" * 5000, "policy.yaml: not a policy: it is nested too deeply, or within itself"),
        ("privacy: [{k-anonymity: {k: 2}}]", "policy.yaml, line 1: the key 'columns' is missing"),
        ("columns: {a: {role: quasi-identifier}}", "policy.yaml, line 1: the key 'privacy' is missing"),
        ("columns: [a]\nprivacy: [{k-anonymity: {k: 2}}]", "policy.yaml, line 1, columns: must be a mapping from"),
        (
            "columns: {a: {role: keep}}\nprivacy: [{k-anonymity: {k: 2}}]",
            "policy.yaml, line 1, columns: no column is a quasi-identifier",
        ),
    ],
)
def test_wrong_documents(text, message):
    assert told(text).startswith(message)


def test_aliases_that_explode():
    laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
    laughs += "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 9))
    assert "its aliases stand for over 1,000,000 entries" in told(laughs)


def test_the_first_of_several_mistakes_and_how_many_more():
    text = "methd: x\n" + SMALL.replace("quasi-identifier", "quasi") + "publish: rang\n"
    assert told(text) == "policy.yaml, line 1: unknown key 'methd'; did you mean 'method'? (and 2 more mistakes)"
    text = SMALL.replace("quasi-identifier", "quasi") + "publish: rang\n"
    assert told(text).endswith("did you mean 'quasi-identifier'? (and 1 more mistake)")


def test_paths_quote_names_that_need_it():
    text = SMALL.replace("age: {role: quasi-identifier}", "age: {role: quasi-identifier}\n  'a b': {role: x}")
    assert told(text).startswith("policy.yaml, line 3, columns.'a b'.role: 'x' is not a role")


def test_the_needed_parameters_come_first():
    assert "- k-anonymity: {k: 2, over: [age]}" in Policy.parse(SMALL.replace("k: 10", "over: [age], k: 2")).dump()


@pytest.mark.parametrize(
    "build",
    [
        lambda data: Policy(**data),
        Policy.model_validate,
        TypeAdapter(Policy).validate_python,
    ],
)
def test_every_way_in_raises_a_policy_error(build):
    data = {"columns": {"age": {"role": "quasi"}}, "privacy": [{"k-anonymity": {"k": 1}}]}
    with pytest.raises(PolicyError) as caught:
        build(data)
    assert str(caught.value) == (
        "columns.age.role: 'quasi' is not a role; did you mean 'quasi-identifier'? (and 1 more mistake)"
    )


def test_a_column_alone_raises_a_policy_error():
    with pytest.raises(
        PolicyError, match=r"^role: 'quasi' is not a role; did you mean 'quasi-identifier'\?$"
    ) as caught:
        Column(role="quasi")
    assert not isinstance(caught.value, ValidationError)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    with pytest.raises(PolicyError, match="'weight' is only for role: quasi-identifier"):
        Column(role="keep", weight=2)


def test_column_names_in_python_are_text():
    with pytest.raises(PolicyError, match=r"^columns: a name must be text, not 3$"):
        Policy(columns={3: Column(role="quasi-identifier")}, privacy=[KAnonymity(k=2)])


def test_a_policy_that_is_no_mapping():
    with pytest.raises(PolicyError, match=r"^a policy is a mapping that has 'columns' and 'privacy', not 5$"):
        Policy.model_validate(5)


def test_a_policy_is_frozen():
    policy = Policy.parse(SMALL)
    with pytest.raises(ValidationError, match="frozen"):
        policy.engine = "memory"
    with pytest.raises(ValidationError, match="frozen"):
        policy.columns["age"].role = Role.KEEP


# --- files, dumping, digest --------------------------------------------------------------------------


def test_load_finds_hierarchies_beside_the_file(tmp_path, monkeypatch):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "policy.yaml").write_text(EXAMPLE)
    monkeypatch.chdir(tmp_path)
    policy = Policy.load("sub/policy.yaml")
    assert policy.columns["education"].hierarchy.file == tmp_path / "sub" / "education.csv"
    assert "hierarchy: education.csv" in policy.dump()
    assert policy == Policy.parse(EXAMPLE)
    assert policy.digest == Policy.parse(EXAMPLE).digest
    assert Policy.parse(EXAMPLE).columns["education"].hierarchy.file == Path("education.csv")


def test_absolute_paths_stay(tmp_path):
    (tmp_path / "policy.yaml").write_text(EXAMPLE.replace("education.csv", "/data/education.csv"))
    assert Policy.load(tmp_path / "policy.yaml").columns["education"].hierarchy.file == Path("/data/education.csv")


def test_load_tells_file_and_line(tmp_path):
    path = tmp_path / "policy.yaml"
    path.write_text(SMALL.replace("quasi-identifier", "quasi"))
    with pytest.raises(PolicyError, match=r"policy.yaml, line 2, columns.age.role: 'quasi' is not a role"):
        Policy.load(path)


def test_load_ignores_a_byte_order_mark(tmp_path):
    (tmp_path / "policy.yaml").write_text(SMALL, "utf-8-sig")
    assert Policy.load(tmp_path / "policy.yaml") == Policy.parse(SMALL)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(PolicyError, match="does not exist; 'rothko draft' writes one"):
        Policy.load(tmp_path / "none.yaml")
    with pytest.raises(PolicyError, match="cannot be read"):
        Policy.load(tmp_path)
    (tmp_path / "latin.yaml").write_bytes(b"# \xe9")
    with pytest.raises(PolicyError, match="is not UTF-8 text"):
        Policy.load(tmp_path / "latin.yaml")


def test_save_and_load(tmp_path):
    policy = Policy.parse(EXAMPLE)
    policy.save(tmp_path / "policy.yaml")
    assert Policy.load(tmp_path / "policy.yaml") == policy
    with pytest.raises(OutputError, match="the policy cannot be written to"):
        policy.save(tmp_path / "none" / "policy.yaml")


def test_dump_reads_as_the_design():
    assert (
        Policy.parse(EXAMPLE + "missing: [NA, '1']\norder: keep").dump()
        == """\
columns:
  name: {role: identifier}
  age: {role: quasi-identifier}
  zip: {role: quasi-identifier, hierarchy: {mask: right}}
  education: {role: quasi-identifier, hierarchy: education.csv, weight: 2}
  occupation: {role: sensitive}
  salary: {role: keep}
privacy:
  - k-anonymity: {k: 10}
  - distinct-l-diversity: {l: 3, of: occupation}
method: mondrian
publish: range
engine: auto
missing:
  - NA
  - '1'
order: keep
"""
    )
    assert (
        "\nmethod: {mondrian: {relaxed: true}}\n" in Policy.parse(SMALL + "method: {mondrian: {relaxed: true}}").dump()
    )


def test_digest_is_of_what_is_asked():
    policy = Policy.parse(SMALL)
    spelled_out = """
privacy: [{k-anonymity: {over: , k: 10}}]
workload: []
engine: "auto"
method: {mondrian: {relaxed: no}}
columns: {"age": {weight: 1.0, role: 'quasi-identifier'}, disease: {type: auto, role: sensitive}}
"""
    assert Policy.parse(spelled_out).digest == policy.digest
    plain = (
        '{"columns":{"age":{"role":"quasi-identifier"},"disease":{"role":"sensitive"}},'
        '"privacy":[{"k-anonymity":{"k":10}}],"method":"mondrian","publish":"range","engine":"auto"}'
    )
    # Spelled out, because certificates keep it: a change here is a change of format.
    assert policy.digest == hashlib.sha256(plain.encode()).hexdigest()
    assert Policy.parse(SMALL.replace("10", "11")).digest != policy.digest
    assert Policy.parse(SMALL.replace("10", "11")) != policy
    assert policy != SMALL


def test_the_order_of_columns_counts():
    one = Policy.parse("columns: {a: {role: quasi-identifier}, b: {role: keep}}\nprivacy: [{k-anonymity: {k: 2}}]")
    two = Policy.parse("columns: {b: {role: keep}, a: {role: quasi-identifier}}\nprivacy: [{k-anonymity: {k: 2}}]")
    assert one != two


texts = st.text(max_size=8) | st.sampled_from(
    ["no", "null", "~", "1", "1e-3", "2019-01-01", "", "<<", "=", " a", "#", "a\nb", "\x85", "\ufeff"]
)
rising = st.lists(
    st.integers(1, 10**6) | st.floats(1e-6, 1e12, exclude_min=True), min_size=1, max_size=4, unique=True
).map(sorted)
trees = st.recursive(
    st.none(), lambda below: st.lists(st.tuples(texts, below), min_size=1, max_size=3), max_leaves=6
).filter(bool)


@st.composite
def tree_forms(draw):
    """Nested lists of leaves and single-key mappings, with every label made unique by a number."""
    number = iter(range(1000))

    def build(nodes):
        named = [(f"{label}{next(number)}", below) for label, below in nodes]
        return [label if below is None else {label: build(below)} for label, below in named]

    return build(draw(trees))


hierarchies = st.one_of(
    st.sampled_from(["flat", "auto", {"mask": "left"}, {"dates": ["day", "year"]}]),
    texts.filter(lambda text: text not in ("", "mask", "intervals", "breaks", "dates", "tree")),
    st.builds(dict, csv=texts.filter(bool), delimiter=st.characters(), encoding=st.sampled_from(["utf-8", "latin-1"])),
    st.builds(dict, intervals=rising),
    st.builds(dict, breaks=rising | st.lists(rising, min_size=1, max_size=3)),
    st.builds(dict, tree=tree_forms()),
)
quasi_identifiers = st.one_of(
    st.fixed_dictionaries(
        {"role": st.just("quasi-identifier")},
        optional={
            "type": st.sampled_from(["number", "date", "text"]),
            "hierarchy": hierarchies,
            "weight": st.floats(min_value=0, exclude_min=True, allow_infinity=False) | st.integers(1, 9),
        },
    ),
    st.fixed_dictionaries(
        {"role": st.just("quasi-identifier"), "order": st.lists(texts, min_size=1, max_size=4, unique=True)}
    ),
)
others = st.fixed_dictionaries({"role": st.sampled_from(["identifier", "sensitive", "keep"])})


def workloads(names):
    """Tasks about columns of any name, by role."""
    known = {role: st.sampled_from(some) for role, some in names.items() if some}
    qi = known[Role.QUASI_IDENTIFIER]
    weights = st.integers(1, 9) | st.floats(min_value=0, exclude_min=True, allow_infinity=False)
    functions = st.lists(st.sampled_from(["count", "sum", "avg", "min", "max"]), min_size=1, unique=True)
    quoted = qi.map(lambda name: '"' + name.replace('"', '""') + '"')
    where = st.tuples(quoted, st.sampled_from(["= 3", "in ('a', 'it''s  b')", "\n between 1e-3 and 8"])).map(" ".join)
    tasks = [
        st.builds(lambda where, weight: {"select": {"where": where, "weight": weight}}, where, weights),
        st.builds(
            lambda of, functions: {"aggregate": {"of": of, "functions": functions}},
            qi | st.lists(qi, min_size=1, unique=True),
            functions,
        ),
    ]
    targets = [known[role] for role in (Role.SENSITIVE, Role.KEEP) if role in known]
    if targets:
        tasks.append(
            st.builds(
                lambda task, target, features: {task: {"target": target, "features": features}},
                st.sampled_from(["classify", "regress"]),
                st.one_of(targets),
                st.none() | st.lists(qi, min_size=1, unique=True),
            )
        )
    return st.one_of(tasks)


@st.composite
def policies(draw):
    columns = draw(st.dictionaries(texts, quasi_identifiers, min_size=1, max_size=4))
    columns |= {n: c for n, c in draw(st.dictionaries(texts, others, max_size=4)).items() if n not in columns}
    names = {role: [n for n, c in columns.items() if c["role"] == role] for role in Role}
    workload = draw(st.lists(workloads(names), max_size=3))
    over = draw(st.none() | st.lists(st.sampled_from(names[Role.QUASI_IDENTIFIER]), min_size=1, max_size=2))
    privacy = [{"k-anonymity": {"k": draw(st.integers(2, 10**9)), "over": over}}]
    privacy += [{"distinct-l-diversity": {"l": draw(st.integers(2, 99)), "of": n}} for n in names[Role.SENSITIVE]]
    return Policy(
        columns=columns,
        privacy=privacy,
        workload=workload,
        method=draw(st.sampled_from(["mondrian", {"mondrian": {"relaxed": True}}])),
        publish=draw(st.sampled_from(["range", "region", "mean", "bounds"])),
        engine=draw(st.sampled_from(["auto", "memory", "rothko-t", "rothko-s", {"rothko-s": {"alpha": 0.01}}])),
        missing=draw(st.lists(texts, max_size=3)),
        order=draw(st.sampled_from(["random", "keep"])),
    )


@settings(deadline=None)  # the first example imports the registries
@given(policies())
def test_what_is_dumped_is_read_back(policy):
    again = Policy.parse(policy.dump())
    assert again == policy
    assert again.digest == policy.digest
    assert again.dump() == policy.dump()
    # Equality goes by the digest, so the fields are compared on their own.
    assert list(again.columns.items()) == list(policy.columns.items())
    assert (again.privacy, again.method, again.missing) == (policy.privacy, policy.method, policy.missing)
    assert (again.workload, again.engine) == (policy.workload, policy.engine)


@settings(deadline=None)  # the first example imports the registries
@given(policies())
def test_the_schema_accepts_what_is_dumped(policy):
    jsonschema.Draft202012Validator(Policy.json_schema()).validate(yaml.safe_load(yaml.safe_dump(policy._document())))


@settings(deadline=None)  # the first example imports the registries
@given(
    st.recursive(st.none() | st.booleans() | st.integers() | texts, lambda x: st.lists(x) | st.dictionaries(texts, x))
)
def test_nothing_but_a_policy_error(data):
    """Whatever stands in place of each part of a policy, the answer is one sentence."""
    with suppress(PolicyError):
        Policy.model_validate(data)
    base = yaml.safe_load(EXAMPLE)
    for key in base:
        text = yaml.safe_dump(base | {key: data}, allow_unicode=True)
        with suppress(PolicyError):
            Policy.parse(text)
    for key in ("role", "type", "hierarchy", "order", "weight"):
        with suppress(PolicyError):
            Column(**{"role": "quasi-identifier", key: data})


# --- JSON Schema -------------------------------------------------------------------------------------


def test_the_schema_is_a_schema_and_accepts_the_example():
    schema = Policy.json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    validator = jsonschema.Draft202012Validator(schema)
    validator.validate(yaml.safe_load(EXAMPLE))
    for form in FORMS:
        validator.validate(yaml.safe_load(with_column(f"{{role: quasi-identifier, hierarchy: {form}}}")))


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("role: keep", "role: kept"),
        ("{role: keep}", "{}"),
        ("{role: keep}", "{role: keep, weight: 2}"),
        ("{role: keep}", "{role: keep, hierarchy: flat}"),
        ("{role: keep}", "{role: keep, rol: keep}"),
        ("{role: identifier}", "{role: identifier, type: date}"),
        ("weight: 2", "weight: 0"),
        ("{mask: right}", "{mask: up}"),
        ("{mask: right}", "mask"),
        ("{mask: right}", "{dates: [moth]}"),
        ("{mask: right}", "{intervals: [0]}"),
        ("{mask: right}", "{mask: right, delimiter: x}"),
        ("{k: 10}", "{k: ten}"),
        ("{k: 10}", "{kk: 10}"),
        ("{k: 10}", "{}"),
        ("k-anonymity", "k-anonimity"),
        ("method: mondrian", "method: mondrain"),
        ("method: mondrian", "method: {mondrian: {relax: true}}"),
        ("publish: range", "publish: rang"),
        ("engine: auto", "engine: car"),
        ("engine: auto", "engine: {rothko-s: {test: t}}"),
        ("engine: auto", "engine: {rothko-t: {alpha: 0.1}}"),
        ("engine: auto", "engin: auto"),
        ("engine: auto", "workload: {classify: {target: salary}}"),
        ("engine: auto", "workload: [{clasify: {target: salary}}]"),
        ("engine: auto", "workload: [{classify: {}}]"),
        ("engine: auto", "workload: [{classify: {target: salary, features: age}}]"),
        ("engine: auto", "workload: [{select: {where: [age]}}]"),
        ("engine: auto", "workload: [{select: {where: age > 3, weight: 0}}]"),
        ("engine: auto", "workload: [{aggregate: {functions: [sum]}}]"),
        ("engine: auto", "workload: [{aggregate: {of: age, functions: [median]}}]"),
    ],
)
def test_the_schema_and_the_policy_refuse_the_same(right, wrong):
    text = EXAMPLE.replace(right, wrong, 1)
    assert text != EXAMPLE
    told(text)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(Policy.json_schema()).validate(yaml.safe_load(text))


# --- without a file ----------------------------------------------------------------------------------


def test_quick():
    policy = Policy.quick(
        ["name", "age", "zip", "disease", "note"],
        qi=["zip", "age"],
        sensitive=["disease"],
        drop="name",
        keep="note",
        k=10,
        l=3,
        missing=["NA"],
        types={"age": "number"},
        hierarchies={"zip": {"mask": "right"}},
    )
    assert policy == Policy.parse("""
columns:
  name: {role: identifier}
  age: {role: quasi-identifier, type: number}
  zip: {role: quasi-identifier, hierarchy: {mask: right}}
  disease: {role: sensitive}
  note: {role: keep}
privacy:
  - k-anonymity: {k: 10}
  - distinct-l-diversity: {l: 3, of: disease}
missing: [NA]
""")


def test_quick_asks_for_diversity_of_every_sensitive_column():
    policy = Policy.quick(list("abc"), qi="a", sensitive=iter("bc"), l=2)
    assert policy.privacy == (DistinctLDiversity(l=2, of="b"), DistinctLDiversity(l=2, of="c"))


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"qi": ["age"]}, r"^no privacy is asked for; give k=…, for example k=10, or l=…$"),
        ({"qi": ["age"], "l": 2}, r"^l-diversity with l = 2 needs a sensitive column; give sensitive=…, or k=… alone$"),
        ({"qi": ["agee"], "k": 2}, r"^'agee' is not a column of the table; did you mean 'age'\?$"),
        ({"qi": ["age"], "k": 2, "types": {"agee": "number"}}, r"^'agee' is not a column of the table"),
        ({"qi": ["age"], "k": 2, "hierarchies": {"x": "flat"}}, r"^'x' is not a column of the table; there are 'age'"),
        (
            {"qi": ["age"], "sensitive": ["age"], "k": 2},
            r"^the column 'age' is asked for as quasi-identifier and as sen",
        ),
        ({"qi": [], "k": 2}, r"^columns: no column is a quasi-identifier"),
        ({"qi": ["age"], "k": 1}, r"^privacy\[0\].k-anonymity: k must be a whole number of at least 2, not 1$"),
        (
            {"qi": ["age"], "k": 2, "hierarchies": {"disease": "flat"}},
            r"^columns.disease: 'hierarchy' is only for role",
        ),
        (
            {"qi": "age,disease", "k": 2},
            r"^'age,disease' is not a column .*; give several as a list, \['age', 'disease'\]$",
        ),
        (
            {"qi": "age", "k": 2},
            r"^the table has 1 column that nothing is said of: 'disease'\. Say keep=\['disease'\] or",
        ),
        ({"qi": ["age"], "k": 2, "publish": "rang"}, r"^publish: 'rang' is not a published form; did you mean 'range'"),
    ],
)
def test_quick_refuses(asked, message):
    with pytest.raises(PolicyError, match=message):
        Policy.quick(["age", "disease"], **asked)


def test_the_words_of_arx_for_roles_are_understood_and_written_in_ours() -> None:
    words = {"identifying": "identifier", "quasi-identifying": "quasi-identifier", "insensitive": "keep"}
    for theirs, ours in words.items():
        text = (
            f"columns: {{a: {{role: quasi-identifier}}, b: {{role: {theirs}}}}}\nprivacy: [{{k-anonymity: {{k: 2}}}}]\n"
        )
        policy = Policy.parse(text)
        assert policy == Policy.parse(text.replace(theirs, ours))
        assert f"b: {{role: {ours}}}" in policy.dump()
