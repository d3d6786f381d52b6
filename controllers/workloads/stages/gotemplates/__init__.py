"""Go's text/template, as far as stages use it: text in, a function of an object out.

    template = gotemplates.compile("phase: {{ .status.phase | Quote }}", {"Quote": quote})
    template.render(pod)

Actions: pipelines, variables and their assignment, `if`/`else if`, `with`, `range` (with `else`,
`break`, `continue`), comments, trim markers. Functions: those given, beside Go's own (`functions`).
`define`, `template`, `block` and methods of values are refused when the template is compiled,
unknown functions too: never in the middle of a run. A run is bounded by `STEPS` and `LONGEST`.
Follows text/template; values are those of JSON, so a map is a dict.
"""

from inkube.controllers.workloads.stages.gotemplates.functions import Function
from inkube.controllers.workloads.stages.gotemplates.template import (
    Template,
    compile,  # noqa: A004 # read as gotemplates.compile
)
from inkube.controllers.workloads.stages.gotemplates.values import (
    LONGEST,
    RunError,
    TemplateError,
    is_true,
    printed,
)

__all__ = [
    "LONGEST",
    "Function",
    "RunError",
    "Template",
    "TemplateError",
    "compile",
    "is_true",
    "printed",
]
