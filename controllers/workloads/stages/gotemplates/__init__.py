"""The part of Go's text/template that stages use: compiles a text, renders it for objects.

    template = gotemplates.compile("phase: {{ .status.phase | Quote }}", {"Quote": quote})
    template.render(pod)

Actions: pipelines, variables and their assignment, `if`/`else if`, `with`, `range` (with `else`,
`break`, `continue`), comments, trim markers. Functions: those of the caller and Go's own
(`functions`). `compile` refuses `define`, `template`, `block`, methods of values and unknown
functions, so a run does not fail because of them. `STEPS` and `LONGEST` limit a run. Follows
text/template; values are those of JSON, so a map is a dict.
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
    format_value,
    is_true,
)

__all__ = [
    "LONGEST",
    "Function",
    "RunError",
    "Template",
    "TemplateError",
    "compile",
    "format_value",
    "is_true",
]
