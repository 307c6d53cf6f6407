"""Entries of a policy that are one name and its parameters: requirements, tasks, methods, engines.

Each is a dataclass in a registry, ``{"name": Class}``, that checks its parameters on construction.
Here they are read from what a person wrote, ``{name: {parameter: value}}``, and written back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from typing import Any, NamedTuple

from rothko.data.hierarchy.spec import HierarchySpec, as_integer
from rothko.errors import PolicyError
from rothko.mistakes import Mistake, MistakeError, hint, show

# The registries are imported when they are needed: `import rothko.policy.policy` stays light.


def requirements() -> dict[str, Any]:
    """The requirements by their name."""
    from rothko.privacy import REQUIREMENTS

    return dict(REQUIREMENTS)


def tasks() -> dict[str, Any]:
    """The tasks of a workload by their name."""
    from rothko.workload import TASKS

    return dict(TASKS)


def methods() -> dict[str, Any]:
    """The methods by their name, and what chooses one."""
    from rothko.methods import METHODS
    from rothko.methods.auto import Auto

    return {**METHODS, Auto.name: Auto}


def engines() -> dict[str, Any]:
    """The engines by their name."""
    from rothko.engines import ENGINES

    return dict(ENGINES)


class Said(NamedTuple):
    """How mistakes in an entry are told: within a policy, where a path says which entry it is, or by themselves."""

    form: str = "{noun} is one name and its parameters, {{name: {{parameter: value}}}}, not {written}"
    name: str = "{name} is not {noun}; {hint}"
    parameter: str = "unknown parameter {parameter}; {hint}"
    within: bool = True
    """Whether a path is told."""


IN_A_POLICY = Said()


def read(written: Any, known: Mapping[str, Any], noun: str, said: Said = IN_A_POLICY) -> Any:
    """Make what was written as an object, a name, or a name and its parameters."""
    if isinstance(written, tuple(known.values())):
        return written
    noun = f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"
    entry = {written: {}} if isinstance(written, str) else written
    if not isinstance(entry, Mapping) or len(entry) != 1:
        raise MistakeError(said.form.format(noun=noun, written=show(written)))
    [(name, given)] = entry.items()
    if name not in known:
        told = said.name.format(name=show(name), noun=noun, hint=hint(name, known))
        raise MistakeError(told, key=str(name))
    at = (name,) if said.within else ()
    parameters = {parameter.name: parameter for parameter in parameters_of(known[name])}
    given = {} if given is None else given
    if not isinstance(given, Mapping):
        first = next(iter(parameters), "parameter")
        raise MistakeError(f"the parameters are a mapping such as {{{first}: …}}, not {show(given)}", at=(name,))
    mistakes = [
        Mistake(at, said.parameter.format(of=name, parameter=show(key), hint=hint(key, parameters)), str(key))
        for key in given
        if key not in parameters
    ]
    mistakes += [
        Mistake((name,), f"the parameter {key!r} is missing; write {{{name}: {{{key}: …}}}}")
        for key, parameter in parameters.items()
        if key not in given and is_needed(parameter)
    ]
    if mistakes:
        raise MistakeError(mistakes=mistakes)
    try:
        return known[name](**{key: _frozen(value) for key, value in given.items()})
    except PolicyError as error:
        if not said.within or (isinstance(error, MistakeError) and error.mistakes[0].path[:1] == (name,)):
            raise  # it says itself which parameter it is
        # The path already says which one it is.
        raise MistakeError(str(error).removeprefix(f"{name}: ").removesuffix("."), at=(name,)) from None


def read_requirement(written: Any) -> Any:
    """Make a requirement of a table; what is asked of sets alone is refused with the command that takes it."""
    from rothko.privacy import SET_REQUIREMENTS

    known = requirements()
    name = getattr(written, "name", None) or (next(iter(written), None) if isinstance(written, Mapping) else written)
    if isinstance(name, str) and name in SET_REQUIREMENTS and name not in known:
        raise MistakeError(f"{name} is about records that are sets of items, and this is a table; use rothko sets")
    return read(written, known, "requirement")


def parameters_of(cls: Any) -> list[Field[Any]]:
    """List the parameters of a dataclass as a person would write them, the needed ones first."""
    return sorted((parameter for parameter in fields(cls) if parameter.init), key=lambda p: not is_needed(p))


def is_needed(parameter: Field[Any]) -> bool:
    """Whether a parameter has no default."""
    return parameter.default is MISSING and parameter.default_factory is MISSING


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def write(chosen: Any) -> dict[str, Any]:
    """Write an entry as its name and the parameters that are not the default."""
    given = {}
    for parameter in parameters_of(chosen):
        value = getattr(chosen, parameter.name)
        default = parameter.default if parameter.default_factory is MISSING else parameter.default_factory()
        if value != default:
            given[parameter.name] = plain(value)
    return {chosen.name: given}


def write_short(chosen: Any) -> Any:
    """Write a method or an engine as its name alone where all its parameters are the default."""
    written = write(chosen)
    return written if written[chosen.name] else chosen.name


def plain(value: Any) -> Any:
    """A value as YAML and JSON write it."""
    if isinstance(value, HierarchySpec):
        return value.short()
    if isinstance(value, Mapping):
        return {key: plain(below) for key, below in value.items()}
    return [plain(item) for item in value] if isinstance(value, tuple | list) else as_integer(value)
