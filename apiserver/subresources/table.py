"""The handlers of subresources, and of kinds that are never stored: scale, tokens, evictions,
reviews.

It is a part of the composition root, and loaded with the first request for one of them.
"""

from collections.abc import Callable

from inkube.apiserver.auth import Authenticator, Authorizer
from inkube.apiserver.handlers import Handler, Handlers
from inkube.apiserver.registry import Registry, Resource, Resources, SystemFields
from inkube.apiserver.subresources import connects
from inkube.apiserver.subresources.binding import BindingHandler
from inkube.apiserver.subresources.components import ComponentStatuses
from inkube.apiserver.subresources.containers import PodStreams
from inkube.apiserver.subresources.eviction import EvictionHandler
from inkube.apiserver.subresources.metrics import Metrics, Usage
from inkube.apiserver.subresources.parts import PartHandler
from inkube.apiserver.subresources.proxies import Proxies
from inkube.apiserver.subresources.reviews import Reviews
from inkube.apiserver.subresources.scale import ScaleHandler
from inkube.apiserver.subresources.tokenrequests import TokenRequestHandler


def table(
    registry: Registry,
    resources: Resources,
    handlers: Handlers,
    *,
    system_fields: SystemFields,
    authenticator: Authenticator,
    authorizer: Authorizer,
    streams: PodStreams,
    proxies: Proxies,
    runs_controllers: bool,
    runs_scheduler: Callable[[], bool],
    usage: Callable[[], Usage | None],
    shows_dump: Callable[[], bool],
    max_token_seconds: float = 0,
    extends_tokens: bool = True,
) -> dict[tuple[str, str, str], Handler]:
    """Return (group, plural, subresource) → handler, in the form of `app.Parts`. `shows_dump` is as
    in `connects.admitted`."""
    reviews = Reviews(authenticator, authorizer, system_fields)
    minor = _pods(resources).definition.minor
    tokens = TokenRequestHandler(
        registry,
        authenticator.accounts,
        system_fields,
        names_uid=minor >= _TOKENS_NAME_UID,
        max_seconds=max_token_seconds,
        extends=extends_tokens,
    )
    binding = BindingHandler(
        registry, lambda: _pods(resources), gives_labels=minor >= _BINDINGS_GIVE_LABELS
    )
    part = PartHandler(handlers)
    return {
        ("*", "*", "scale"): ScaleHandler(registry, system_fields),
        ("", "bindings", ""): binding,
        ("", "namespaces", "finalize"): PartHandler(handlers, "update"),
        ("", "pods", "binding"): binding,
        ("", "pods", "ephemeralcontainers"): part,
        ("", "pods", "eviction"): EvictionHandler(
            registry, counts_always=minor < _EVICTIONS_COUNT_LESS
        ),
        ("", "pods", "resize"): part,
        ("certificates.k8s.io", "certificatesigningrequests", "approval"): part,
        ("", "serviceaccounts", "token"): tokens,
        **connects.admitted(registry, {**streams.handlers(), **proxies.handlers()}, shows_dump),
        **ComponentStatuses(
            runs_controllers, runs_scheduler, registry.store, system_fields
        ).handlers(),
        **Metrics(registry, usage, system_fields.now).handlers(),
        **reviews.handlers(),
    }


_BINDINGS_GIVE_LABELS = _EVICTIONS_COUNT_LESS = 35
_TOKENS_NAME_UID = 34
"""The minor since which the metadata of a TokenRequest contains the uid of the account."""


def _pods(resources: Resources) -> Resource:
    found = resources.get("", "pods")
    assert found is not None, "pods are built in"
    return found
