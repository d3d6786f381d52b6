"""The part of jq that selectors and delays of stages use: compiles a text to a function.

    query = jq.compile('.metadata.annotations["delay"]')
    list(query(pod))  # every output

Paths, `[]`, slices, `|`, `,`, `//`, `?`, `as $x |`, operators, `if`, array and object construction
and the functions of `functions`. `compile` refuses other features of jq (`def`, `reduce`,
`foreach`, `path`, assignments, `input`, string interpolation) by name. `STEPS` limits a run, so
that the query of any user takes milliseconds at most.

jq's own library has wheels for three systems, but no limit: a query such as `[range(20000000)]`
blocks the process for seconds, and `env` shows the environment of the server. A query also takes 5
to 15 times as long, because each object is converted.
"""

from inkube.controllers.workloads.stages.jq.queries import (
    LONGEST,
    Query,
    QueryError,
    compile,  # noqa: A004 # read as jq.compile
)
from inkube.controllers.workloads.stages.jq.values import STEPS, RunError

__all__ = ["LONGEST", "STEPS", "Query", "QueryError", "RunError", "compile"]
