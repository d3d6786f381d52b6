"""What answers under an object's name or instead of its kind: scale, tokens, reviews, finalize.

A part of the composition root that `server` imports at the first request for one of them.
"""

from inkube.apiserver.auth.authenticators import Authenticator
from inkube.apiserver.auth.authorizer import Authorizer
from inkube.apiserver.handlers.verbs import Handler, Handlers
from inkube.apiserver.registry.registry import Registry
from inkube.apiserver.registry.stamps import Stamps
from inkube.apiserver.subresources.finalize import FinalizeHandler
from inkube.apiserver.subresources.reviews import Reviews
from inkube.apiserver.subresources.scale import ScaleHandler
from inkube.apiserver.subresources.tokenrequests import TokenRequestHandler


def table(
    registry: Registry,
    handlers: Handlers,
    *,
    stamps: Stamps,
    authenticator: Authenticator,
    authorizer: Authorizer,
) -> dict[tuple[str, str, str], Handler]:
    """(group, plural, subresource) → handler, as `app.Parts` has it."""
    reviews = Reviews(authenticator, authorizer, stamps)
    tokens = TokenRequestHandler(registry, authenticator.accounts, stamps)
    return {
        ("*", "*", "scale"): ScaleHandler(registry, stamps),
        ("", "namespaces", "finalize"): FinalizeHandler(handlers),
        ("", "serviceaccounts", "token"): tokens,
        **reviews.handlers(),
    }
