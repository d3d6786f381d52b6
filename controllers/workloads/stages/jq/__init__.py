"""The part of jq that selectors and delays of stages use: compiles a text to a function.

    query = jq.compile('.metadata.annotations["delay"]')
    list(query(pod))  # every output

Paths, `[]`, slices, `|`, `,`, `//`, `?`, `as $x |`, operators, `if`, array and object construction
and the functions of `functions`. `compile` refuses other features of jq (`def`, `reduce`,
`foreach`, `path`, assignments, `input`, string interpolation) by name. `STEPS` limits a run, so
that the query of any user takes milliseconds at most.

jq's own library has no limit and converts each object, see "Own code instead of a library" in
docs/architecture.md.
"""

from inkube.controllers.workloads.stages.jq.queries import (
    LONGEST,
    Query,
    QueryError,
    compile,  # noqa: A004 # read as jq.compile
)
from inkube.controllers.workloads.stages.jq.values import STEPS, RunError

__all__ = ["LONGEST", "STEPS", "Query", "QueryError", "RunError", "compile"]
