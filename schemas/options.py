"""Options, described once: name, type, default, help, choices, limits and group of each.

An option is a field of a dataclass. The command line, the types of keyword arguments and the
reference are made from the fields:

    @dataclass(frozen=True, kw_only=True)
    class Options:
        degrees: float = option(18.0, "Degrees that the thermometer shows.", least=-273.15)

    options_of(Options)  # one Option for each field, in order

The options of a server (`apiserver.configuration`) and those of modules are described like this.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

_SIMPLE: dict[Any, tuple[Any, str]] = {
    bool: (bool, "True or False"),
    float: ((int, float), "a number"),
    int: (int, "a whole number"),
    str: (str, "a text"),
}
"""Type of an option → the types of its values, and their name."""


TYPES: Mapping[str, Any] = {
    "bool": bool,
    "float": float,
    "int": int,
    "str": str,
    "Sequence[Path]": Sequence[Path],
    "Sequence[str]": Sequence[str],
    "Sequence[Path | str | Mapping[str, Any]]": Sequence[Path | str | Mapping[str, Any]],
    "Sequence[Any]": Sequence[Any],
    "Any": None,
}
"""The types of options that files name."""


@dataclass(frozen=True, slots=True)
class Option:
    """The description of one option, with its name in Python: `greenhouse_degrees`.

    On the command line, it is `--greenhouse-degrees`. `inkube.APIServer` takes the options of
    inkube's modules by name, and those of other modules in `module_options`.
    """

    name: str
    default: Any = None
    help: str = ""
    """What the option does. The command line shows the first sentence."""
    choices: Sequence[str] = ()
    """The permitted texts; those of a Literal are its own. If empty, any value of the type is
    permitted."""
    least: float | None = None
    """The smallest permitted number."""
    above: float | None = None
    """The number that values must exceed."""
    type: Any = None
    """The type of the values; None: the type of `default`."""
    check: Callable[[str], Any] | None = None
    """Whether a text is permitted, as a value or as a member of one: a function such as the
    `fullmatch` of a regular expression."""
    expected: str = ""
    """What texts that `check` refuses are not, as an error names it: `an origin`."""
    group: str = ""
    """The heading in `inkube serve --help`. An option of the server without a heading is only for
    Python."""
    flag: str = ""
    """The name on the command line, if it is not derived from `name`; `--no-…` turns it off."""
    flag_help: str = ""
    """The help of a flag that turns the option off."""
    metavar: str = ""
    """The name of the value in the help of the command line."""

    @property
    def flag_name(self) -> str:
        """The name on the command line: `--greenhouse-degrees`."""
        return self.flag or f"--{self.name.replace('_', '-')}"

    @property
    def is_turned_off(self) -> bool:
        """Whether the command line has a flag that turns the option off."""
        return self.flag.startswith("--no-")

    @property
    def summary(self) -> str:
        """The help on the command line: the first sentence, without Markdown."""
        text = self.flag_help or self.help
        return text.split(". ")[0].removesuffix(".").replace("`", "") + "."

    def problem(self, value: Any) -> str:
        """Return why a value is not permitted; empty if it is."""
        kind = self.type or type(self.default)
        types, name = _SIMPLE.get(kind, (object, ""))
        if not isinstance(value, types):
            return f"{value!r} is not {name}"
        is_list = get_origin(kind) is Sequence or kind in (list, tuple)
        if is_list and isinstance(value, str | Path):
            return f"{str(value)!r} is a single value; use a list"
        if self.choices and value not in self.choices:
            return f"{value!r} is not one of {', '.join(self.choices)}"
        if self.least is not None and not self.least <= value < float("inf"):
            return f"{value} is out of range; use {self.least:g} or more"
        if self.above is not None and not self.above < value < float("inf"):
            return f"{value} is out of range; use a number above {self.above:g}"
        texts = (value,) if isinstance(value, str) else value if self.check else ()
        for text in texts:
            if self.check and not self.check(text):
                return f"{text!r} is not {self.expected}"
        return ""


def option(default: Any, help: str, **members: Any) -> Any:
    """Return a field of a dataclass that is an option; `members` are those of `Option`.

    A dict is the default of an option whose values are copied.
    """
    metadata = {"help": help, **members}
    if isinstance(default, dict):
        return dataclasses.field(default_factory=default.copy, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def options_of(owner: type) -> tuple[Option, ...]:
    """Return the options of a class: the fields of a dataclass that `option` makes, in order."""
    return tuple(
        Option(each.name, _default(each), type=each.type, **_members(each))
        for each in getattr(owner, "__dataclass_fields__", {}).values()
        if "help" in each.metadata
    )


def _members(field: "dataclasses.Field[Any]") -> Mapping[str, Any]:
    kind = field.type
    return {"choices": get_args(kind) if get_origin(kind) is Literal else (), **field.metadata}


def _default(field: "dataclasses.Field[Any]") -> Any:
    factory = field.default_factory
    return field.default if factory is dataclasses.MISSING else factory()
