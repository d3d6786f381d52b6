"""The cost of all rules of a CRD together, and the texts for what is too dear."""

from collections.abc import Iterator
from typing import Final

from inkube.schemas import fielderrors
from inkube.schemas.cel.declarations.estimates import TOP
from inkube.schemas.fielderrors import FieldError

CRD_LIMIT: Final = 100_000_000
"""What all rules of one schema may cost by estimate (StaticEstimatedCRDCostLimit)."""
_NAMED: Final = 4
"""How many of the dearest rules are named."""


class TotalCost:
    """The sum of estimated costs, and the rules that make it up."""

    def __init__(self) -> None:
        self._sum = 0
        self._dearest: list[tuple[int, str]] = []

    def observe(self, path: str, cost: int) -> None:
        """Add a rule; those under a hundredth of the limit are never named."""
        self._sum = min(self._sum + cost, TOP)
        if cost >= CRD_LIMIT // 100:
            self._dearest.append((cost, path))
            self._dearest.sort(key=lambda entry: -entry[0])
            del self._dearest[_NAMED:]

    def errors(self, path: str) -> Iterator[FieldError]:
        """The total over its limit, and who contributed."""
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
    """How far a cost is over its limit (getCostErrorMessage)."""
    factor = cost / limit
    if factor > 100:
        shown = "more than 100x"
    else:
        shown = f"{factor:f}x" if factor < 1.5 else f"{factor:.1f}x"
    return (
        f"{name} exceeds budget by factor of {shown} (try simplifying the rule, or adding"
        " maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)"
    )
