"""The data of one write for webhooks: objects in the version that their rules name.

Webhooks for the subresource `scale` receive a Scale. Follows generic/webhook.go (ShouldCallHook),
predicates/namespace and generic/conversion.go.
"""

from functools import partial
from typing import Any

import orjson

from inkube.apiserver import auth
from inkube.apiserver.auth import Authorizer
from inkube.apiserver.registry import Request, Write, attributes, conversions, keys
from inkube.schemas import selectors, status, webhooks
from inkube.schemas.builtin import connects
from inkube.schemas.golang import DecodeError
from inkube.schemas.meta import GVK, GVR
from inkube.schemas.objects import Object
from inkube.schemas.served import Served
from inkube.schemas.webhooks import Facts, Hook, RequestView, matching, review
from inkube.storage import BaseStore


class HookAdmission:
    """Matches webhooks with one write. The matches use the current state of the object, so changes
    by earlier webhooks count.
    """

    def __init__(
        self,
        write: Write,
        store: BaseStore,
        authorizer: Authorizer,
        users: "auth.webhookusers.Users | None" = None,
    ) -> None:
        self.write = write
        self.users = users
        self.request: Request = write.request
        self._store = store
        self._authorizer = authorizer
        self.facts = _facts(write)
        self._request = matching.Request(
            write.operation, self.request.served.gvr, self.request.subresource, self.facts.namespace
        )

    async def concerns(self, hook: Hook) -> RequestView | None:
        """Return the data for a webhook, or None if the webhook does not match.

        Raises StatusError 403 if a match condition fails with an error, and 404 if the namespace
        does not exist.
        """
        write = self.write
        if not matching.either_matches(hook.objects, *attributes.selectable(write)):
            return None
        others = (served.gvr for served in attributes.equivalents(self.request)[1:])
        resource = hook.match(self._request, others)
        if resource is None or not self._in_namespace(hook):
            return None
        seen = await self._view_as(resource)
        if hook.conditions and not await auth.answered(partial(self._conditions_hold, hook, seen)):
            return None
        return seen

    def _in_namespace(self, hook: Hook) -> bool:
        resource, namespace = self.request.served.gvr.resource, self.facts.namespace
        if not hook.namespaces or (not namespace and resource != "namespaces"):
            return True
        obj = self.write.object
        if resource == "namespaces" and not self.request.subresource and obj is not None:
            return selectors.matches(hook.namespaces, matching.labels_of(obj))
        entry = self._store.get(keys.key("namespaces", "", namespace))
        if entry is None:
            raise status.not_found("", "namespaces", namespace)
        return selectors.matches(hook.namespaces, matching.labels_of(entry.value))

    def _conditions_hold(self, hook: Hook, view: RequestView) -> bool:
        authorizer = auth.UserAuthorizer(self._authorizer, self.request.user)
        variables = {
            "object": view.object,
            "oldObject": view.old,
            "request": review.request(self.facts, view, ""),
            "namespaceObject": None,
            "authorizer": authorizer,
            "authorizer.requestResource": self._own_check(authorizer),
        }
        try:
            return webhooks.conditions.hold(
                hook.conditions, variables, ignores=hook.ignores_failures
            )
        except webhooks.conditions.ConditionError as error:
            group, plural = self.request.resource.group, self.request.resource.plural
            raise status.forbidden(group, plural, self.facts.name, str(error)) from error

    def _own_check(self, authorizer: "auth.UserAuthorizer") -> "auth.ResourceCheck":
        """Return the authorization check for the resource of this request, a variable of match
        conditions.
        """
        resource, facts = self.facts.resource, self.facts
        check = authorizer.group(resource.group).resource(resource.resource)
        return (
            check.subresource(facts.subresource).namespace(self.request.namespace).name(facts.name)
        )

    def _served(self, resource: GVR) -> Served:
        """Return the version of the request's objects that has this name."""
        return next(each for each in attributes.equivalents(self.request) if each.gvr == resource)

    async def _view_as(self, resource: GVR) -> RequestView:
        served, write = self._served(resource), self.write
        own = self.facts.kind == self.request.served.gvk
        return RequestView(
            served.gvk if own else self.facts.kind,
            resource,
            await attributes.view(write, write.object, served),
            await attributes.view(write, write.old, served),
        )

    async def change(self, view: RequestView, patched_object: Object) -> bool:
        """Replace the object of the write with a patched view. Returns whether it changed."""
        if attributes.is_scale(self.request):
            if _text(patched_object.get("spec")) == _text((view.object or {}).get("spec")):
                return False
            await attributes.put(self.write, patched_object, self.request.served)
            return True
        served = self._served(view.resource)
        new = await _decode(self.request, served, patched_object, self.facts.kind)
        if _text(new) == _text(view.object):
            return False
        await attributes.put(self.write, new, served)
        return True


def _text(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


async def _decode(request: Request, served: Served, patched: Object, kind: GVK) -> Object:
    """Decode a patched object: convert it to the version, prune and default it. Raises StatusError
    500.

    `kind` differs from the kind of the resource if a subresource has its own kind.
    """
    if connects.is_options(kind):
        return connects.pruned(patched, kind.kind)
    named = served.gvk if kind == request.served.gvk else kind
    try:
        patched = await conversions.admitted(request.resource, patched, served)
        if patched.get("metadata") is None:
            patched["metadata"] = {}
        return request.resource.decode_admitted(served, patched, named)
    except DecodeError as error:
        raise status.internal_error(str(error)) from error


def _facts(write: Write) -> Facts:
    request = write.request
    return Facts(
        kind=attributes.kind(write),
        resource=request.served.gvr,
        subresource=request.subresource,
        name=attributes.name(write),
        namespace=attributes.namespace(write),
        operation=write.operation,
        user=request.user.info(),
        dry_run=write.dry_run,
        options=attributes.options(write),
    )
