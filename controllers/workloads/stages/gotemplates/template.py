"""A template: compiled once, rendered for many objects."""

from collections.abc import Mapping
from typing import Any

from inkube.controllers.workloads.stages.gotemplates.functions import BUILTIN, Function
from inkube.controllers.workloads.stages.gotemplates.nodes import Nodes, State
from inkube.controllers.workloads.stages.gotemplates.parser import Parser
from inkube.controllers.workloads.stages.gotemplates.values import LONGEST, RunError, TemplateError


class Template:
    """A compiled template."""

    def __init__(self, text: str, root: Nodes) -> None:
        self.text = text
        self._root = root

    def render(self, value: Any) -> str:
        """Return the text for a JSON value. Raises RunError."""
        state = State(value)
        try:
            self._root.write(state, value)
        except RecursionError as error:
            raise RunError("the template nests too deep") from error
        return "".join(state.output)


def compile(text: str, functions: Mapping[str, Function] | None = None) -> Template:  # noqa: A001
    """Compile a text, which can call `functions` and Go's built-in ones. Raises TemplateError."""
    if len(text) > LONGEST:
        raise TemplateError(f"a template has at most {LONGEST} characters")
    return Template(text, Parser(text, {**BUILTIN, **(functions or {})}).whole())
