"""The total cost of all rules of a CRD, and the error texts for excessive costs."""

from collections.abc import Iterator
from typing import Final

from inkube.schemas import fielderrors
from inkube.schemas.cel.declarations.estimates import TOP
from inkube.schemas.fielderrors import FieldError

CRD_LIMIT: Final = 100_000_000
"""The limit of the estimated cost of all rules of a schema (StaticEstimatedCRDCostLimit)."""
_NAMED: Final = 4
"""The number of the most expensive rules that errors name."""


class TotalCost:
    """The sum of estimated costs, and the most expensive rules."""

    def __init__(self) -> None:
        self._sum = 0
        self._dearest: list[tuple[int, str]] = []

    def observe(self, path: str, cost: int) -> None:
        """Add the cost of a rule; errors never name rules below a hundredth of the limit."""
        self._sum = min(self._sum + cost, TOP)
        if cost >= CRD_LIMIT // 100:
            self._dearest.append((cost, path))
            self._dearest.sort(key=lambda entry: -entry[0])
            del self._dearest[_NAMED:]

    def errors(self, path: str) -> Iterator[FieldError]:
        """Yield the errors of the most expensive rules and of the total, if it exceeds the
        limit."""
        if self._sum <= CRD_LIMIT:
            return
        for _, rule in self._dearest:
            yield fielderrors.forbidden(
                rule,
                "contributed to estimated rule cost total exceeding cost limit for entire"
                " OpenAPIv3 schema",
            )
        name = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
        yield fielderrors.forbidden(path, over_budget(name, self._sum, CRD_LIMIT))


def over_budget(name: str, cost: int, limit: int) -> str:
    """Return the text for a cost that exceeds its limit (getCostErrorMessage)."""
    factor = cost / limit
    if factor > 100:
        excess = "more than 100x"
    else:
        excess = f"{factor:f}x" if factor < 1.5 else f"{factor:.1f}x"
    return (
        f"{name} exceeds budget by factor of {excess} (try simplifying the rule, or adding"
        " maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)"
    )
