"""Admission by webhooks: MutatingWebhookConfigurations and ValidatingWebhookConfigurations.

The plugins cache the webhooks of all configurations. The dispatcher, which loads CEL and an HTTP
client, is loaded with the first webhook.
"""

from collections.abc import Callable
from functools import partial

from inkube.apiserver import auth
from inkube.apiserver.registry import OnDemand, Operation, Resource, StoreCache, Write, keys
from inkube.apiserver.webhooks import calls
from inkube.schemas import webhooks as reviews
from inkube.storage import Store

_EXEMPT = frozenset(
    {
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicybindings",
        "mutatingwebhookconfigurations",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
        "validatingwebhookconfigurations",
    }
)
"""Resources for which no webhook is called, because a webhook could otherwise block its own
removal."""


class Webhooks(OnDemand):
    """The part that both kinds of webhooks share: the active configurations."""

    plural = ""
    is_private = False

    def __init__(
        self,
        store: Store,
        dispatcher: Callable[[], "calls.Dispatcher"],
        users: "auth.webhookusers.Users | None" = None,
    ) -> None:
        """`users` are those that the server is for webhooks; None for no user at all."""
        self._dispatcher = dispatcher
        self._users = users
        prefix = keys.prefix(self.plural)
        self._hooks = StoreCache(store, (prefix,), partial(_hooks, store, prefix, dispatcher))
        """All webhooks of all configurations, in the order of their calls."""
        super().__init__(self._hooks)

    def handles(self, resource: Resource, operation: Operation) -> bool:
        exempt = resource.group == "admissionregistration.k8s.io" and resource.plural in _EXEMPT
        return not exempt


def _hooks(
    store: Store, prefix: str, dispatcher: "Callable[[], calls.Dispatcher]"
) -> "list[reviews.Hook]":
    """Return the webhooks of all configurations under a prefix."""
    entries = store.list(prefix)
    specs = [
        (entry.value["metadata"]["name"], spec)
        for entry in entries
        for spec in entry.value.get("webhooks") or ()
    ]
    return dispatcher().hooks(specs) if specs else []


class MutatingWebhooks(Webhooks):
    """The admission plugin for MutatingWebhookConfigurations."""

    name = "MutatingAdmissionWebhook"
    plural = "mutatingwebhookconfigurations"

    async def mutate(self, write: Write) -> None:
        await self._dispatcher().mutate(self._hooks.value, write, self._users)


class ValidatingWebhooks(Webhooks):
    """The admission plugin for ValidatingWebhookConfigurations."""

    name = "ValidatingAdmissionWebhook"
    plural = "validatingwebhookconfigurations"

    async def validate(self, write: Write) -> None:
        await self._dispatcher().validate(self._hooks.value, write, self._users)
