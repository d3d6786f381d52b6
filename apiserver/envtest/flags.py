"""Command lines as Go programs read them: `--a=b`, `--a b`, and flags without a value, which are
true.

An unknown flag is not an error, because programs are started with flags of many versions. It takes
the next argument as its value, unless that is a flag too. Follows spf13/pflag and Go's flag.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Kind = Literal["bool", "text", "list"]
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})


class FlagError(Exception):
    """A command line that cannot be read; the text is what Go programs say."""


class Flag(NamedTuple):
    """How one flag is written and what it is for; `list` values are parted by commas."""

    kind: Kind
    help: str = ""


@dataclass(frozen=True, slots=True)
class Given:
    """The parsed arguments of a command line."""

    values: Mapping[str, Sequence[str]]
    """Name → its values in their order; lists are taken apart."""
    unknown: Sequence[str] = field(default=())
    """The names of unknown flags."""

    def last(self, name: str, default: str = "") -> str:
        """The value that counts where a flag has one."""
        found = self.values.get(name)
        return found[-1] if found else default

    def all(self, name: str) -> Sequence[str]:
        """Every value, in their order."""
        return self.values.get(name, ())

    def truth(self, name: str) -> bool:
        """Whether a bare flag is given and says true."""
        return self.last(name) in _TRUE


def parse(
    program: str, arguments: Sequence[str], known: Mapping[str, Flag], *, single: bool = False
) -> Given:
    """Read a command line; with `single` one dash is as good as two. Raises FlagError."""
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
        flag = known.get(name)
        if flag is None:
            unknown.append(name)
        if not equals:
            value = _next(name, flag, rest)
        if flag is not None and flag.kind == "bool" and value not in _TRUE | _FALSE:
            raise FlagError(
                f'invalid argument "{value}" for "--{name}" flag: '
                f'strconv.ParseBool: parsing "{value}": invalid syntax'
            )
        several = value.split(",") if flag is not None and flag.kind == "list" else [value]
        values.setdefault(name, []).extend(several)
    return Given(values, unknown)


def listed(known: Mapping[str, Flag]) -> str:
    """Every flag with what it is for, as `--help` prints them."""
    words = {"bool": "", "text": " string", "list": " strings"}
    heads = {name: f"      --{name}{words[flag.kind]}" for name, flag in known.items()}
    width = max(map(len, heads.values())) + 3
    return "\n".join(f"{heads[name]:<{width}}{known[name].help}" for name in sorted(known))


def _shorthand(argument: str) -> tuple[str, str, str]:
    """`-v2`, `-v=2` and `-v` as name, value and whether there is one."""
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
