"""A PUT or an apply that creates takes the right to create, beside the one to update or patch.

A validator, so that it is asked only once it is known that the object is not there. Follows
`withAuthorization` of apiserver/pkg/endpoints/handlers/update.go.
"""

from inkube.apiserver.auth import Authorizer, require
from inkube.apiserver.auth import attributes as wants
from inkube.apiserver.registry import Attributes, Operation, Plugin, Resource


class CreateRights(Plugin):
    """Asks the authorizer about creates that came as something else."""

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    def handles(self, resource: Resource, operation: Operation) -> bool:
        return operation == "CREATE"

    async def validate(self, attributes: Attributes) -> None:
        call = attributes.call
        if call.verb == "create":
            return
        require(self._authorizer, wants.of_call(call, "create"))
