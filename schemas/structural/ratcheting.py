"""Ratcheting: an update ignores the errors of values that did not change.

The checks are those of a create, but errors at a place with an unchanged value are dropped at this
place, before combinators above it evaluate their branches. Follows
apiextensions-apiserver/pkg/apiserver/validation/ratcheting.go.
"""

from typing import Any

from inkube.schemas.structural import compiler, fieldpaths
from inkube.schemas.structural.correlation import NEVER_COMPARED, Correlation
from inkube.schemas.structural.fieldpaths import Path
from inkube.schemas.structural.findings import Sink, Step


class RatchetSink(Sink):
    """A sink with access to the old object."""

    __slots__ = ("_correlation",)

    def __init__(self, correlation: Correlation) -> None:
        super().__init__()
        self._correlation = correlation

    def fork(self) -> "RatchetSink":
        """Return an empty sink for a branch."""
        return RatchetSink(self._correlation)

    def forgive(self, path: Path, start: int) -> None:
        """Drop the errors from index `start` on if the value at `path` did not change."""
        correlation: Correlation | None = self._correlation
        if path is not None and path[0] is None and path[1] in NEVER_COMPARED:
            return
        for segment in fieldpaths.segments(path):
            correlation = correlation.child(segment) if correlation is not None else None
        if correlation is not None and correlation.equal:
            del self[start:]


class RatchetCompiler(compiler.Compiler):
    """Compiles steps that drop the errors of unchanged children."""

    def follow_items(self, dispatch: compiler.Dispatch) -> Step:
        """Return the step that checks every item of a list."""

        def check_items(value: Any, path: Path, errors: Sink) -> None:
            for index, item in enumerate(value):
                _check_child(dispatch, item, (path, index), errors)

        return check_items

    def follow_fields(self, dispatches: compiler.Dispatches, needed: tuple[str, ...]) -> Step:
        """Return the step that checks every field of an object, and the presence of required
        fields."""
        check_needed = compiler.required_step(needed)

        def check_fields(value: Any, path: Path, errors: Sink) -> None:
            for name, item in value.items():
                _check_child(dispatches[name], item, (path, name), errors)
            check_needed(value, path, errors)

        return check_fields


def _check_child(dispatch: compiler.Dispatch, value: Any, path: Path, errors: Sink) -> None:
    step = dispatch[type(value)]
    if step is None:
        return
    start = len(errors)
    step(value, path, errors)
    if len(errors) > start and isinstance(errors, RatchetSink):
        errors.forgive(path, start)
