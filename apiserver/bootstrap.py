"""What a new server starts with: the built-in kinds and the namespaces every cluster has."""

from inkube.apiserver.client import InProcessClient
from inkube.apiserver.crds import GROUP, PLURAL, CRDStrategy
from inkube.apiserver.identity import Identity
from inkube.apiserver.resources import Resource, Resources
from inkube.apiserver.strategy import BuiltinStrategy, Strategy
from inkube.schemas import builtin, status
from inkube.schemas.builtin import behaviours
from inkube.schemas.definitions import Definition

NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")


def install_builtin(resources: Resources, identity: Identity) -> None:
    """Serve every built-in kind."""
    crd_strategy = CRDStrategy(identity)
    for definition in builtin.definitions():
        strategy = _strategy(definition, crd_strategy, identity)
        resources.install(Resource(definition, strategy))


def _strategy(definition: Definition, crd_strategy: Strategy, identity: Identity) -> Strategy:
    if (definition.group, definition.names.plural) == (GROUP, PLURAL):
        return crd_strategy
    return BuiltinStrategy(behaviours.of(definition.group, definition.names.plural), identity)


async def first_objects(client: InProcessClient) -> None:
    """Make the namespaces that are missing."""
    for name in NAMESPACES:
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        try:
            await client.create(body)
        except status.StatusError as error:
            if error.reason != status.Reason.ALREADY_EXISTS:
                raise
