"""The parts of a template: the `write` of a node adds text to the output, a `Value` computes.

Follows text/template/exec.go.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from inkube.controllers.workloads.stages.gotemplates.values import (
    LONGEST,
    STEPS,
    RunError,
    format_value,
    is_int,
    is_true,
)


class Break(Exception):
    """Ends the innermost loop."""


class Continue(Exception):
    """Continues the innermost loop with its next item."""


class State:
    """Output and variables of one run."""

    def __init__(self, root: Any) -> None:
        self.output: list[str] = []
        self.scopes: list[dict[str, Any]] = [{"$": root}]
        self._remaining_steps = STEPS
        self._remaining_length = LONGEST

    def step(self, steps: int = 1) -> None:
        """Count steps. Raises RunError after more than STEPS."""
        self._remaining_steps -= steps
        if self._remaining_steps < 0:
            raise RunError(f"the template takes more than {STEPS} steps")

    def emit(self, text: str) -> None:
        """Add a text to the output. Raises RunError if the output exceeds LONGEST characters."""
        self._remaining_length -= len(text)
        if self._remaining_length < 0:
            raise RunError(f"the template writes more than {LONGEST} characters")
        self.output.append(text)

    def variable(self, name: str) -> Any:
        """Return the value of the innermost variable with a name. Raises RunError if it is
        undefined."""
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        raise RunError(f"undefined variable {name}")

    def assign(self, name: str, value: Any) -> None:
        """Assign to the innermost variable with a name. Raises RunError if it is undefined."""
        for scope in reversed(self.scopes):
            if name in scope:
                scope[name] = value
                return
        raise RunError(f"undefined variable {name}")


class Node:
    """A part of a template that can be written. `dot` is the value of `.` in this part."""

    def write(self, state: State, dot: Any) -> None:
        """Add the text of this part to the output. Raises RunError."""
        raise NotImplementedError


class Nodes(Node):
    """Parts that are written one after the other."""

    def __init__(self, nodes: list[Node]) -> None:
        self._nodes = nodes

    def write(self, state: State, dot: Any) -> None:
        for node in self._nodes:
            state.step()
            node.write(state, dot)

    def scoped(self, state: State, dot: Any, variables: dict[str, Any] | None = None) -> None:
        """Write in a new scope of variables."""
        state.scopes.append(variables or {})
        try:
            self.write(state, dot)
        finally:
            state.scopes.pop()


class Text(Node):
    """The text between actions, which is written unchanged."""

    def __init__(self, text: str) -> None:
        self._text = text

    def write(self, state: State, dot: Any) -> None:
        state.emit(self._text)


class Jump(Node):
    """The action `break` or `continue`, which ends or continues the innermost loop."""

    def __init__(self, signal: type[Exception]) -> None:
        self._signal = signal

    def write(self, state: State, dot: Any) -> None:
        raise self._signal


Value = Callable[[State, Any], Any]


class Pipeline(NamedTuple):
    """Commands, and the variables that receive the result. `declares` means `:=`."""

    run: Value
    names: tuple[str, ...] = ()
    declares: bool = False

    def value(self, state: State, dot: Any) -> Any:
        """Compute the value, and assign it to the variables of the pipeline."""
        found = self.run(state, dot)
        for name in self.names:
            if self.declares:
                state.scopes[-1][name] = found
            else:
                state.assign(name, found)
        return found


class Action(Node):
    """A pipeline. Its value is printed unless it is assigned to a variable."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline

    def write(self, state: State, dot: Any) -> None:
        found = self._pipeline.value(state, dot)
        if not self._pipeline.names:
            state.emit(format_value(found))


class If(Node):
    """`if`: the body if a pipeline is true, otherwise the body of `else`."""

    def __init__(self, pipeline: Pipeline, body: Nodes, other: Nodes) -> None:
        self._pipeline, self._body, self._other = pipeline, body, other

    def write(self, state: State, dot: Any) -> None:
        state.scopes.append({})
        try:
            chosen = self._body if is_true(self._pipeline.value(state, dot)) else self._other
            chosen.scoped(state, dot)
        finally:
            state.scopes.pop()


class With(If):
    """`with`: like `if`, with the value of the pipeline as the body's dot."""

    def write(self, state: State, dot: Any) -> None:
        state.scopes.append({})
        try:
            found = self._pipeline.value(state, dot)
            if is_true(found):
                self._body.scoped(state, found)
            else:
                self._other.scoped(state, dot)
        finally:
            state.scopes.pop()


class Range(If):
    """`range`: the body for every item, or the body of `else` without items."""

    def write(self, state: State, dot: Any) -> None:
        over = self._pipeline.run(state, dot)
        any_item = False
        for key, item in _items(over):
            any_item = True
            state.step()
            names = self._pipeline.names
            values = (item,) if len(names) == 1 else (key, item)
            if not self._pipeline.declares:
                for name, one in zip(names, values, strict=False):
                    state.assign(name, one)
                names = ()
            try:
                self._body.scoped(state, item, dict(zip(names, values, strict=False)))
            except Break:
                break
            except Continue:
                continue
        if not any_item:
            self._other.scoped(state, dot)


def _items(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield pairs of index or key and value. Maps are sorted by key, like `range` does it in Go."""
    if value is None:
        return iter(())
    if isinstance(value, dict):
        return iter(sorted(value.items()))
    if isinstance(value, list):
        return iter(enumerate(value))
    if is_int(value):
        return ((number, number) for number in range(value))
    raise RunError(f"range can't iterate over {format_value(value)}")
