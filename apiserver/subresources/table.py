"""What answers under an object's name or instead of its kind: scale, tokens, reviews, finalize.

A part of the composition root that `server` imports at the first request for one of them.
"""

from collections.abc import Callable

from inkube.apiserver.app import SubresourceHandler
from inkube.apiserver.handlers.verbs import Handlers
from inkube.apiserver.registry.identity import Identity
from inkube.apiserver.registry.registry import Registry
from inkube.apiserver.root.security import Security
from inkube.apiserver.subresources.binding import BindingHandler
from inkube.apiserver.subresources.containers import PodStreams
from inkube.apiserver.subresources.finalize import FinalizeHandler
from inkube.apiserver.subresources.metrics import Metrics, Usage
from inkube.apiserver.subresources.proxies import Proxies
from inkube.apiserver.subresources.reviews import Reviews
from inkube.apiserver.subresources.scale import ScaleHandler
from inkube.apiserver.subresources.tokenrequests import TokenRequestHandler


def table(
    registry: Registry,
    handlers: Handlers,
    identity: Identity,
    guards: Security,
    streams: PodStreams,
    usage: Callable[[], Usage | None],
) -> dict[tuple[str, str, str], SubresourceHandler]:
    """(group, plural, subresource) → handler, as `app.Parts` has it."""
    reviews = Reviews(guards.authenticator, guards.authorizer, identity)
    tokens = TokenRequestHandler(registry, guards.authenticator.accounts, identity)
    return {
        ("*", "*", "scale"): ScaleHandler(registry, identity),
        ("", "pods", "binding"): BindingHandler(registry),
        ("", "namespaces", "finalize"): FinalizeHandler(handlers),
        ("", "serviceaccounts", "token"): tokens,
        **streams.handlers(),
        **Proxies(registry).handlers(),
        **Metrics(registry, usage, identity.now).handlers(),
        **reviews.handlers(),
    }
