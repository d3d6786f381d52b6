"""Error texts of older minors of Kubernetes: other texts, and bad values as Go prints them.

`dialects.txt` is the data; its first lines describe the format. Only errors and warnings are
reworded, before they are sent, so the newest minor has no cost, and successful requests to other
minors have no cost.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from inkube.schemas import caches, fielderrors, gotypes, releases
from inkube.schemas.fielderrors import FieldError, Verbatim
from inkube.schemas.golang import gotext
from inkube.schemas.gotypes import internal
from inkube.schemas.lazyproperty import cached_property
from inkube.schemas.status import StatusError

_WARNING = "warning"
"""Replaces the field in the data if a text is that of a warning."""
_TEXTS = re.compile(r"must be greater than or equal to 0|.* is not positive integer multiple of ")
"""Details of errors that show the value as a text, independent of its type."""
_PRINTS_GO = 33
"""The last minor that shows values in errors as Go source (`%#v`), and not as JSON."""


class _Change(NamedTuple):
    """One replacement of a text.

    `fields` is None if the text can belong to any field, or to no field. If `code` is not 0, an
    error with this text gets this `code` and `reason`.
    """

    fields: re.Pattern[str] | None
    pattern: re.Pattern[str]
    text: str
    code: int = 0
    reason: str = ""


class Dialect:
    """The texts of one minor."""

    def __init__(self, minor: int, *, is_builtin: bool) -> None:
        self.minor = minor
        self._prints_go = minor <= _PRINTS_GO
        self._is_builtin = is_builtin
        """Whether the errors are those of kinds with Go types."""

    @cached_property
    def _changes(self) -> list[_Change]:
        """The replacements for the minor, read at the first error or warning."""
        return _changes(self.minor, is_builtin=self._is_builtin)

    def reword(self, error: StatusError) -> StatusError:
        """Change an error in place to the texts of the minor, and return it."""
        if not error.field_errors:
            self._recode(error)
            error.message = self._text(error.message, "")
            for cause in (error.details or {}).get("causes", ()):
                cause["message"] = self._text(cause.get("message", ""), "")
            return error
        before, errors = fielderrors.joined(error.field_errors), self.errors(error.field_errors)
        if error.message.endswith(before):
            error.message = error.message.removesuffix(before) + fielderrors.joined(errors)
        for cause, field_error in zip(
            (error.details or {}).get("causes", ()), errors, strict=False
        ):
            cause["message"] = field_error.message()
        error.field_errors = errors
        return error

    def _recode(self, error: StatusError) -> None:
        for change in self._changes:
            if change.code and change.pattern.search(error.message):
                error.code, error.reason = change.code, change.reason
                if not change.reason:
                    error.details = None
                elif error.details is not None:
                    error.details.pop("name", None)

    def warnings(self, texts: Iterable[str]) -> list[str]:
        """Return warnings with the texts of the minor, without warnings that later minors
        introduced."""
        said = (self._text(text, _WARNING) for text in texts)
        return [text for text in said if text]

    def errors(self, errors: Iterable[FieldError]) -> list[FieldError]:
        """Field errors with the texts of the minor."""
        return [self._error(each) for each in errors]

    def _error(self, error: FieldError) -> FieldError:
        value = error.value
        if error.type not in fielderrors.WITHOUT_VALUE:
            value = self._value(value, error.field, error.detail)
        detail = error.detail
        if isinstance(detail, internal.Difference):
            detail = self._difference(detail)
        elif isinstance(detail, fielderrors.Reworded) and self._prints_go:
            detail = detail.before
        return error._replace(value=value, detail=self._text(detail, error.field))

    def _difference(self, detail: internal.Difference) -> str:
        print_difference = gotypes.gocmp.diff if self._prints_go else internal.diff
        return detail.lead + print_difference(detail.name, detail.old, detail.new, self.minor)

    def _value(self, value: Any, field: str, detail: str) -> Any:
        if self._prints_go:
            if field == "metadata.resourceVersion" and value == 0:
                return Verbatim("0x0")  # a uint64
            typed = None if _TEXTS.match(detail) else self._typed(value, field)
            return typed or _go_value(value, self.minor, self._is_json(field))
        return value.of(self.minor) if isinstance(value, internal.InternalValue) else value

    def _is_json(self, field: str) -> bool:
        """Return whether values of the field can be any JSON.

        These are all fields of custom resources, and defaults in schemas.
        """
        if self._is_builtin:
            return field.endswith(".default")
        return field != "dryRun"  # an option, which is a list of texts

    def _typed(self, value: Any, field: str) -> Verbatim | None:
        """Return the Go source of a value if its type is known, else None; resource names stay
        texts, as does "", which replaces a time."""
        if isinstance(value, Verbatim) or value is fielderrors.OMITTED:
            return None
        for name, fields in _go_types():
            is_one = isinstance(value, str) and name.startswith("[]") and name != "[]byte"
            has_type = value != "" if name.endswith("time") else self._is_builtin
            if fields.fullmatch(field) and has_type and not is_one:
                if isinstance(value, str) and field.endswith(f"[{value}]"):
                    return Verbatim(value)
                return Verbatim(gotypes.gosource.of_type(name, value))
        return None

    def _text(self, text: str, field: str) -> str:
        for change in self._changes:
            if change.fields is None or change.fields.fullmatch(field):
                text = change.pattern.sub(change.text, text)
        return text


@caches.of_values(2 * len(releases.RECORDED))
def of(minor: int, *, is_builtin: bool = True) -> Dialect | None:
    """Return the dialect of a minor; None for the newest, because the code contains its texts."""
    if minor == releases.NEWEST.minor:
        return None
    return Dialect(minor, is_builtin=is_builtin)


@caches.of_values(1)
def _go_types() -> list[tuple[str, re.Pattern[str]]]:
    """Go types with patterns of their fields: the section `go` of the data."""
    text = Path(__file__).with_name("dialects.txt").read_text(encoding="utf-8")
    lines = text.partition("\ngo\n")[2].splitlines()
    pairs = (line.strip().split("  ", 1) for line in lines)
    return [(name, re.compile(fields)) for name, fields in pairs]


def _changes(minor: int, *, is_builtin: bool) -> list[_Change]:
    changes: list[_Change] = []
    applies = False
    text = Path(__file__).with_name("dialects.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line.startswith("  ") and applies:
            changes.append(_change(line.strip()))
        elif line and not line.startswith((" ", "#")):
            span, _, kinds = line.partition(" ")
            applies = line != "go" and releases.holds(span, minor) and (is_builtin or not kinds)
    return changes


def _change(line: str) -> _Change:
    said, _, text = line.partition(" =>")
    fields, divider, pattern = said.rpartition(" :: ")
    text, _, status = text.strip().partition(" !")
    code, _, reason = status.partition(" ")
    about = re.compile(fields) if divider else None
    return _Change(about, re.compile(pattern), text, int(code or 0), reason)


def _go_value(value: Any, minor: int, is_json: bool) -> Any:
    """Return a bad value as `%#v` prints it; strings, numbers and booleans are returned
    unchanged."""
    if value is fielderrors.OMITTED or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, internal.InternalValue):
        if value.data is None and not value.is_list:
            return "null"  # a nil pointer, which Go prints like this text
        print_value = gotypes.gosource.items if value.is_list else gotypes.gosource.value
        return Verbatim(print_value(value.name, value.data, minor))
    if isinstance(value, fielderrors.Sourced):
        return Verbatim(value.go)
    if isinstance(value, Verbatim):
        return value
    if value is None:
        return "null"
    if not is_json and isinstance(value, list) and all(isinstance(each, str) for each in value):
        return Verbatim(f"[]string{{{', '.join(map(gotext.quote, value))}}}")
    if not is_json and all(isinstance(each, str) for each in value.values()):
        pairs = (f"{gotext.quote(key)}:{gotext.quote(value[key])}" for key in sorted(value))
        return Verbatim(f"map[string]string{{{', '.join(pairs)}}}")
    return Verbatim(gotypes.gosource.of_json(value))
