"""A PUT or an apply that creates an object also needs the permission to create.

This is a validator, because only then the handlers know that the object does not exist. Follows
`withAuthorization` of apiserver/pkg/endpoints/handlers/update.go.
"""

from inkube.apiserver.auth import Authorizer, require
from inkube.apiserver.auth import attributes as authorization
from inkube.apiserver.registry import Plugin, Write


class CreateRights(Plugin):
    """Checks the permission `create` for requests with another verb that create an object."""

    operations = ("CREATE",)

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    async def validate(self, write: Write) -> None:
        request = write.request
        if request.verb == "create":
            return
        await require(self._authorizer, authorization.of_object(request, "create", write.name))
