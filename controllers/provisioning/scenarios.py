"""Scenarios of the scripted world: each creates one situation that front ends must show.

A scenario is data: the objects of the world, an example object, and the expected errors of the
example. `inkube world load`, `inkube serve --scenario` and the fixture `world` create the world;
docs/documents.md lists the example of the documents for each scenario.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inkube.client import Object

HEAL_SECONDS = 30
"""The duration of the outage in the scenario `outage`, in seconds."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """`world` is the objects to create; `errors` are the expected errors of `example`, as (type,
    field, detail)."""

    name: str
    text: str
    world: Sequence[Object]
    example: Object
    errors: Sequence[tuple[str, str, str]]


class UnknownScenario(ValueError):
    """The scenario does not exist; the text lists the available scenarios."""


def _host(**spec: Any) -> Object:
    hosted = {"path": "grafana/grafana", "branches": ["main"], "defaultBranch": "main"}
    return {
        "apiVersion": "world.inkube.dev/v1",
        "kind": "GitHost",
        "metadata": {"name": "github.com"},
        "spec": {"repositories": [hosted], **spec},
    }


def _app() -> Object:
    return {
        "apiVersion": "world.inkube.dev/v1",
        "kind": "GitHubApp",
        "metadata": {"name": "123456"},
        "spec": {"installations": [{"id": "42", "repositories": ["grafana/grafana"]}]},
    }


def _repository(path: str = "grafana/grafana", branch: str = "main", **more: Any) -> Object:
    return {
        "apiVersion": "provisioning.grafana.app/v0alpha1",
        "kind": "Repository",
        "metadata": {"name": "my-repo"},
        "spec": {
            "type": "github",
            "github": {"url": f"https://github.com/{path}", "branch": branch},
        },
        **more,
    }


_CONNECTION: Object = {
    "apiVersion": "provisioning.grafana.app/v0alpha1",
    "kind": "Connection",
    "metadata": {"name": "my-connection"},
    "spec": {"type": "github", "github": {"appID": "123456", "installationID": "999999999"}},
}
"""The required private key must be added: any RSA key is accepted."""

INVALID = "FieldValueInvalid"
_UNREACHABLE_MESSAGE = "failed to check if repository exists: github.com"
_ALL = (
    Scenario(
        "vanished-branch",
        "the branch of a repository is not there; kubectl edit githost brings it back",
        (_host(),),
        _repository(branch="non-existent-branch"),
        ((INVALID, "spec.github.branch", "branch not found"),),
    ),
    Scenario(
        "wrong-installation",
        "a GitHub App is installed, but not under the ID that a connection names",
        (_host(), _app()),
        _CONNECTION,
        ((INVALID, "spec.installationID", "invalid installation ID: 999999999"),),
    ),
    Scenario(
        "wrong-token",
        "a token is refused, and the repository is not there either",
        (_host(tokens=[{"value": "good", "write": True}]),),
        _repository("grafana/missing", secure={"token": {"create": "wrong"}}),
        (
            (INVALID, "spec.github.url", "repository not found"),
            (INVALID, "secure.token", "not authorized"),
        ),
    ),
    Scenario(
        "outage",
        f"GitHub answers 503 and is well again after {HEAL_SECONDS} seconds",
        (_host(outage={"code": 503, "healsAfterSeconds": HEAL_SECONDS}),),
        _repository(),
        ((INVALID, "spec.github.url", f"{_UNREACHABLE_MESSAGE} answered 503 Service Unavailable"),),
    ),
    Scenario(
        "rate-limit",
        "GitHub answers 429 until kubectl edit githost takes the outage away",
        (_host(outage={"code": 429}),),
        _repository(),
        ((INVALID, "spec.github.url", f"{_UNREACHABLE_MESSAGE} has reached its rate limit"),),
    ),
)
SCENARIOS: Mapping[str, Scenario] = {scenario.name: scenario for scenario in _ALL}
"""The scenarios by name, in the order of lists."""


def find(name: str) -> Scenario:
    """Return the scenario with that name. Raises UnknownScenario."""
    found = SCENARIOS.get(name)
    if found is None:
        choices = ", ".join(SCENARIOS)
        raise UnknownScenario(f"there is no scenario {name!r}; there are {choices}")
    return found
