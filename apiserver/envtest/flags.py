"""Command lines as Go programs read them: `--a=b`, `--a b`, and flags without a value, which are
true.

An unknown flag is not an error, because programs are started with flags of many versions. It takes
the next argument as its value, unless that is a flag too. Follows spf13/pflag and Go's flag.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Kind = Literal["bool", "text", "list"]
TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})


class FlagError(Exception):
    """An invalid command line, with the error text of Go programs."""


class Flag(NamedTuple):
    """The syntax and the purpose of one flag. Values of `list` are separated by commas."""

    kind: Kind
    help: str = ""


@dataclass(frozen=True, slots=True)
class Arguments:
    """The parsed arguments of a command line."""

    values: Mapping[str, Sequence[str]]
    """Name → its values in their order. Lists are split."""
    unknown: Sequence[str] = field(default=())
    """The names of unknown flags."""

    def last(self, name: str, default: str = "") -> str:
        """Return the last value of a flag, which takes precedence."""
        values = self.values.get(name)
        return values[-1] if values else default

    def all(self, name: str) -> Sequence[str]:
        """Return every value of a flag, in order."""
        return self.values.get(name, ())

    def truth(self, name: str) -> bool:
        """Return whether a boolean flag is set to true."""
        return self.last(name) in TRUE


def parse(
    program: str, arguments: Sequence[str], flags: Mapping[str, Flag], *, single: bool = False
) -> Arguments:
    """Parse a command line. With `single`, one dash is as valid as two. Raises FlagError."""
    values: dict[str, list[str]] = {}
    unknown: list[str] = []
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        dashes = 2 if argument.startswith("--") else int(argument.startswith("-"))
        if not dashes or argument in ("-", "--"):
            raise FlagError(f'"{program}" does not take any arguments, got ["{argument}"]')
        name, equals, value = argument[dashes:].partition("=")
        if dashes == 1 and not single:
            name, value, equals = _shorthand(argument)
        flag = flags.get(name)
        if flag is None:
            unknown.append(name)
        if not equals:
            value = _next(name, flag, rest)
        if flag is not None and flag.kind == "bool" and value not in TRUE | _FALSE:
            raise FlagError(
                f'invalid argument "{value}" for "--{name}" flag: '
                f'strconv.ParseBool: parsing "{value}": invalid syntax'
            )
        several = value.split(",") if flag is not None and flag.kind == "list" else [value]
        values.setdefault(name, []).extend(several)
    return Arguments(values, unknown)


def truth_of(text: str) -> bool | None:
    """Return the truth in a text as strconv.ParseBool reads it, or None."""
    return True if text in TRUE else False if text in _FALSE else None


def integer(flag: str, text: str) -> int:
    """Return the value of a flag as strconv.ParseInt reads it. Raises FlagError."""
    try:
        return int(text, 0)
    except ValueError as error:
        raise FlagError(
            f'invalid argument "{text}" for "--{flag}" flag: strconv.ParseInt: parsing "{text}": '
            "invalid syntax"
        ) from error


def help_text(flags: Mapping[str, Flag]) -> str:
    """Return every flag with its purpose, in the format of `--help`."""
    words = {"bool": "", "text": " string", "list": " strings"}
    heads = {name: f"      --{name}{words[flag.kind]}" for name, flag in flags.items()}
    width = max(map(len, heads.values())) + 3
    return "\n".join(f"{heads[name]:<{width}}{flags[name].help}" for name in sorted(flags))


def _shorthand(argument: str) -> tuple[str, str, str]:
    """Return `-v2`, `-v=2` or `-v` as name, value and whether it has a value."""
    value = argument[2:].removeprefix("=")
    return argument[1], value, value


def _next(name: str, flag: Flag | None, rest: list[str]) -> str:
    if flag is not None and flag.kind == "bool":
        return "true"
    if flag is None and (not rest or rest[0].startswith("-")):
        return "true"
    if not rest:
        raise FlagError(f"flag needs an argument: --{name}")
    return rest.pop(0)
