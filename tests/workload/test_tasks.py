"""The tasks of a workload: what they take, what they refuse, and how they stand in a policy."""

from __future__ import annotations

import pickle

import pytest

import rothko as rk
from rothko.errors import PolicyError
from rothko.policy.policy import Policy
from rothko.workload import TASKS, Aggregate, Classify, Regress, Select

HEAD = """\
columns:
  name: {role: identifier}
  age: {role: quasi-identifier}
  sex: {role: quasi-identifier}
  disease: {role: sensitive}
  salary: {role: keep}
privacy:
  - k-anonymity: {k: 10}
workload:
"""


def parsed(*entries: str) -> Policy:
    return Policy.parse(HEAD + "".join(f"  - {entry}\n" for entry in entries))


def told(*entries: str) -> str:
    with pytest.raises(PolicyError) as caught:
        Policy.parse(HEAD + "".join(f"  - {entry}\n" for entry in entries), where="policy.yaml")
    assert type(caught.value) is PolicyError
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_every_task_has_a_name():
    assert list(TASKS) == ["classify", "regress", "select", "aggregate"]
    assert rk.workload.Classify("salary") == Classify(target="salary")


def test_python_and_yaml_are_the_same():
    policy = parsed(
        "classify: {target: salary}",
        "classify: {target: disease, features: [age, salary]}",
        "regress: {target: salary, features: [age]}",
        "select: {where: \"age >= 40 and sex = 'Male'\", weight: 2}",
        "select: {where: age < 18}",
        "aggregate: {of: age}",
        "aggregate: {of: [age, sex], functions: [max, MIN]}",
    )
    tasks = (
        Classify("salary"),
        Classify("disease", features=["age", "salary"]),
        Regress("salary", features=("age",)),
        Select("age >= 40 and sex = 'Male'", weight=2),
        Select("age < 18"),
        Aggregate("age"),
        Aggregate(["age", "sex"], functions=["min", "max"]),
    )
    assert policy.workload == tasks
    assert policy == policy.but(workload=tasks)
    assert pickle.loads(pickle.dumps(tasks)) == tasks
    assert hash(tasks) == hash(policy.workload)


def test_what_a_task_says():
    assert Regress("salary").describe() == "regress salary"
    assert Select("age  >=\n40").describe() == "select age >= 40"
    assert Aggregate("age", functions="avg").describe() == "avg of age"
    assert Classify("salary", features=["age"]).columns == {"target": ("salary",), "features": ("age",)}
    assert Select("age > 1 or sex = 'M'").columns == {"where": ("age", "sex")}
    assert Aggregate("age").columns == {"of": ("age",)}


def test_a_selection_is_read_when_it_is_made():
    assert Select("age >= 40").predicate.columns == ("age",)
    assert "predicate" not in repr(Select("age >= 40"))


def test_the_same_question_is_the_same_task():
    assert Select("age >= 40\n  and sex = 'a  b'") == Select(" age >= 40 and sex = 'a  b' ")
    assert Select("sex = 'a  b'") != Select("sex = 'a b'")
    assert Aggregate("age", functions=["max", "min"]) == Aggregate(("age",), functions=("min", "max"))
    one = parsed("select: {where: age >= 40, weight: 1.0}", "aggregate: {of: [age], functions: [avg, sum]}")
    two = parsed("select: {where: age   >= 40}", "aggregate: {of: age, functions: [sum, avg]}")
    assert one.digest == two.digest


def test_names_are_text_as_written():
    policy = Policy.parse(
        "columns: {2019: {role: quasi-identifier}, no: {role: keep}}\n"
        "privacy: [{k-anonymity: {k: 2}}]\n"
        "workload: [{classify: {target: no, features: [2019]}}, {aggregate: {of: 2019}}]"
    )
    assert policy.workload == (Classify("no", features=("2019",)), Aggregate("2019"))
    assert Policy.parse(policy.dump()) == policy


def test_dump_puts_the_workload_after_the_privacy():
    policy = parsed("classify: {target: salary}", "select: {where: \"age >= 40 and sex = 'Male'\", weight: 2}")
    dumped = policy.dump()
    assert (
        """\
privacy:
  - k-anonymity: {k: 10}
workload:
  - classify: {target: salary}
  - select: {where: age >= 40 and sex = 'Male', weight: 2}
method: mondrian
"""
        in dumped
    )
    assert Policy.parse(dumped) == policy
    assert Policy.parse(dumped).digest == policy.digest
    assert policy.digest != policy.but(workload=()).digest


def test_quick_takes_a_workload():
    policy = Policy.quick(
        ["age", "salary"],
        qi=["age"],
        keep="salary",
        k=2,
        workload=[Classify("salary"), {"select": {"where": "age > 3"}}],
    )
    assert policy.workload == (Classify("salary"), Select("age > 3"))
    with pytest.raises(PolicyError, match=r"workload\[0\].classify.target: the column 'age' is 'quasi-identifier'"):
        Policy.quick(["age"], qi=["age"], k=2, workload=[Classify("age")])


REFUSED = {
    # the columns
    "classify: {target: age}": (
        ".target: the column 'age' is 'quasi-identifier', which is released generalised; what a model predicts must be "
        "sensitive or keep"
    ),
    "regress: {target: name}": ".target: the column 'name' is 'identifier', which is dropped; nothing can be asked",
    "regress: {target: salry}": ".target: 'salry' is not a column of the policy; did you mean 'salary'?",
    "regress: {target: agee}": ".target: 'agee' is not a column of the policy; there are 'disease', 'salary'",
    "classify: {target: salary, features: [age, name]}": ".features: the column 'name' is 'identifier', which is",
    "classify: {target: salary, features: [age, sexx]}": ".features: 'sexx' is not a column of the policy; did you",
    "classify: {target: salary, features: [age, salary]}": (
        ".features: 'salary' is what the model predicts, so it cannot be a feature; remove it"
    ),
    "select: {where: salary > 3}": (
        ".where: the column 'salary' is 'keep', which is released as it is and selects exactly without help; leave"
    ),
    "select: {where: disease = 'flu' and age > 3}": ".where: the column 'disease' is 'sensitive', which is released as",
    "select: {where: name = 'x'}": ".where: the column 'name' is 'identifier', which is dropped",
    "select: {where: agee > 3}": ".where: 'agee' is not a column of the policy; did you mean 'age'?",
    "aggregate: {of: salary}": (
        ".of: the column 'salary' is 'keep', which is released as it is and needs no statistics; leave it out"
    ),
    "aggregate: {of: [age, disease]}": ".of: the column 'disease' is 'sensitive', which is released as it is",
    "aggregate: {of: name}": ".of: the column 'name' is 'identifier', which is dropped",
    "aggregate: {of: zip}": ".of: 'zip' is not a column of the policy; there are 'age', 'sex'",
    # the parameters
    "classify: {target: }": ".target: '' is not a column of the policy; there are 'disease', 'salary'",
    "classify: {target: [a]}": ".target: must be the name of a column, not a list",
    "classify: {}": ": the parameter 'target' is missing; write {classify: {target: …}}",
    "classify: salary": ": the parameters are a mapping such as {target: …}, not 'salary'",
    "classify: {target: salary, feature: [age]}": ": unknown parameter 'feature'; did you mean 'features'?",
    "classify: {target: salary, features: age}": ".features: must be a list of names such as [age, sex], not 'age'",
    "classify: {target: salary, features: []}": ".features: must be a list of names such as [age, sex], not an empty",
    "classify: {target: salary, features: [age, [sex]]}": ".features: must be a list of names such as [age, sex], and",
    "classify: {target: salary, features: [age, age]}": ".features: has 'age' twice; keep one of them",
    "select: {where: ''}": ".where: is empty; write a predicate such as \"age >= 40 and sex = 'Male'\"",
    "select: {where: [age]}": '.where: must be text such as "age >= 40", not a list',
    "select: {where: age != 40}": ".where: character 5, '!=': this takes a box away, and what is left is not",
    "select: {where: age < 20 and age > 30}": ".where: nothing can meet age < 20 and age > 30; correct it",
    "select: {weight: 3}": ": the parameter 'where' is missing; write {select: {where: …}}",
    **{
        f"select: {{where: age > 3, weight: {weight}}}": f".weight: must be a number above 0, not {shown}"
        for weight, shown in {
            "0": "0", "-1": "-1", ".nan": "nan", ".inf": "inf", "two": "'two'", "true": "true", "null": "null",
        }.items()
    },
    "aggregate: {of: []}": ".of: must be a list of names such as [age], not an empty list",
    "aggregate: {of: {a: b}}": ".of: must be a list of names such as [age], not a mapping",
    "aggregate: {of: age, functions: [mean]}": (
        ".functions: 'mean' is not a function; there are 'count', 'sum', 'avg', 'min', 'max'"
    ),
    "aggregate: {of: age, functions: [average]}": ".functions: 'average' is not a function; did you mean 'avg'?",
    "aggregate: {of: age, functions: [av]}": ".functions: 'av' is not a function; did you mean 'avg'?",
    "aggregate: {of: age, functions: []}": ".functions: must be a list of names such as [sum, avg], not an empty list",
    "aggregate: {of: age, functions: [sum, sum]}": ".functions: has 'sum' twice; keep one of them",
}  # fmt: skip


@pytest.mark.parametrize(("entry", "message"), REFUSED.items(), ids=REFUSED)
def test_refused_with_file_and_line(entry, message):
    error = told("classify: {target: salary}", entry)
    assert error.startswith(f"policy.yaml, line 11, workload[1].{entry.split(':')[0]}{message}")
    assert "more mistake" not in error


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("clasify: {target: salary}", "workload[0]: 'clasify' is not a task; did you mean 'classify'?"),
        ("salary", "workload[0]: 'salary' is not a task; there are 'classify', 'regress', 'select', 'aggregate'"),
        ("3", "workload[0]: a task is one name and its parameters, {name: {parameter: value}}, not 3"),
        (
            "{classify: {target: salary}, regress: {target: salary}}",
            "workload[0]: a task is one name and its parameters",
        ),
    ],
)
def test_what_is_no_task(entry, message):
    assert told(entry).startswith(f"policy.yaml, line 10, {message}")


def test_a_workload_is_a_list():
    with pytest.raises(PolicyError, match="policy, line 9, workload: must be a list, not a mapping"):
        Policy.parse(HEAD + "  classify: {target: salary}\n")


def test_the_line_of_a_parameter():
    text = HEAD + "  - select:\n      weight: 2\n      where: |\n        age >= 40 and\n        salary > 3\n"
    with pytest.raises(
        PolicyError, match=r"policy, line 12, workload\[0\].select.where: the column 'salary' is 'keep'"
    ):
        Policy.parse(text)


def test_all_mistakes_are_counted():
    assert told("classify: {target: age}", "regress: {target: sex, features: [name]}").endswith("(and 2 more mistakes)")


def test_in_python_the_task_is_named():
    with pytest.raises(PolicyError, match=r"^select.where: at the end: expected a comparison of 'age'"):
        Select("age")
    with pytest.raises(PolicyError, match=r"^aggregate.functions: 'median' is not a function"):
        Aggregate("age", functions=["median"])
    with pytest.raises(PolicyError, match=r"^regress.target: must be the name of a column, not null"):
        Regress(None)
