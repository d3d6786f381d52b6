"""jq queries, as far as the selectors and delays of stages use them: text in, a function out.

    query = jq.compile('.metadata.annotations["delay"]')
    list(query(pod))  # every output

Paths, `[]`, slices, `|`, `,`, `//`, `?`, `as $x |`, operators, `if`, array and object construction
and the functions of `functions`. What jq can besides (`def`, `reduce`, `foreach`, `path`,
assignments, `input`, string interpolation) is refused by name when the query is compiled. A run is
bounded by `STEPS`: a query from a stranger costs milliseconds at most.
"""

from inkube.controllers.workloads.stages.jq.queries import (
    LONGEST,
    Query,
    QueryError,
    compile,  # noqa: A004 # read as jq.compile
)
from inkube.controllers.workloads.stages.jq.values import STEPS, RunError

__all__ = ["LONGEST", "STEPS", "Query", "QueryError", "RunError", "compile"]
