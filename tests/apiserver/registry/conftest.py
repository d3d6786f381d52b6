"""Each test of the registry runs with both engines, except those of parts of the fast engine."""

from collections.abc import Iterator

import engines
import pytest


@pytest.fixture(scope="module", autouse=True, params=["fast", "plain"])
def engine(request: pytest.FixtureRequest) -> Iterator[str]:
    """The engine of all servers in the test."""
    name: str = request.param
    with pytest.MonkeyPatch.context() as patch:
        if name == "plain":
            engines.replace(patch.setattr)
        yield name
