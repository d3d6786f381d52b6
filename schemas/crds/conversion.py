"""Validation of spec.conversion: strategy, webhook and its review versions.

Errors name the internal version's fields, `webhookClientConfig` and `conversionReviewVersions`.
Follows validation.go (validateCustomResourceConversion) and
apiserver/pkg/util/webhook/validation.go.
"""

from collections.abc import Iterator

from inkube.schemas.crds import certificates, naming
from inkube.schemas.fielderrors import FieldError, forbidden, invalid, required
from inkube.schemas.golang import gourl
from inkube.schemas.metadata import names
from inkube.schemas.objects import Object

_REVIEWS = ("v1", "v1beta1")
_FORM = "; desired format: https://host[/path]"


def validate(conversion: Object, path: str, *, check_bundle: bool) -> Iterator[FieldError]:
    """Yield the errors of the conversion; with `check_bundle` also those of the CA bundle."""
    strategy = conversion["strategy"]
    yield from naming.validate_choice(strategy, f"{path}.strategy", ("None", "Webhook"))
    webhook = conversion.get("webhook") or {}
    client = webhook.get("clientConfig")
    reviews = webhook.get("conversionReviewVersions") or []
    client_path, reviews_path = f"{path}.webhookClientConfig", f"{path}.conversionReviewVersions"
    if strategy != "Webhook":
        for value, at in ((client, client_path), (reviews or None, reviews_path)):
            if value is not None:
                yield forbidden(at, "should not be set when strategy is not set to Webhook")
        return
    if client is None:
        yield required(client_path, "required when strategy is set to Webhook")
    else:
        yield from client_errors(client, client_path)
        if check_bundle and client.get("caBundle"):
            yield from certificates.validate(client["caBundle"], f"{client_path}.caBundle")
    yield from _review_versions(reviews, reviews_path)


def client_errors(config: Object, path: str) -> Iterator[FieldError]:
    """Yield the errors of a webhook's clientConfig (apiserver/pkg/util/webhook/validation.go)."""
    url, service = config.get("url"), config.get("service")
    if (url is None) == (service is None):
        yield required(path, "exactly one of url or service is required")
    elif url is not None:
        yield from _url(url, f"{path}.url")
    else:
        assert service is not None
        yield from _service(service, f"{path}.service")


def _url(text: str, path: str) -> Iterator[FieldError]:
    try:
        url = gourl.parse(text)
    except ValueError as error:
        yield required(path, f"url must be a valid URL: {error}{_FORM}")
        return
    if url.scheme != "https":
        yield invalid(path, url.scheme, f"'https' is the only allowed URL scheme{_FORM}")
    if not url.host:
        yield invalid(path, "", f"host must be specified{_FORM}")
    if url.user is not None:
        yield invalid(path, url.user, "user information is not permitted in the URL")
    if url.fragment:
        yield invalid(path, url.fragment, "fragments are not permitted in the URL")
    if url.query:
        yield invalid(path, url.query, "query parameters are not permitted in the URL")


def _service(service: Object, path: str) -> Iterator[FieldError]:
    for key, given in (("name", "namespace"), ("namespace", "name")):  # callers exchange the two
        if not service[given]:
            yield required(f"{path}.{key}", before=f"service {key} is required")
    port = service.get("port", 443)
    if not 1 <= port <= 65535:
        yield invalid(
            f"{path}.port", port, "port is not valid: must be between 1 and 65535, inclusive"
        )
    at, url_path = f"{path}.path", service.get("path")
    if url_path in (None, "", "/"):
        return
    if url_path == "//":
        yield invalid(at, url_path, "segment[0] may not be empty")
        return
    if not url_path.startswith("/"):
        yield invalid(at, url_path, "must start with a '/'")
    for index, step in enumerate(url_path[1:].removesuffix("/").split("/")):
        if not step:
            yield invalid(at, url_path, f"segment[{index}] may not be empty")
            continue
        for problem in names.dns1123_subdomain(step):
            yield invalid(at, url_path, f"segment[{index}]: {problem}")


def _review_versions(versions: list[str], path: str) -> Iterator[FieldError]:
    if not versions:
        yield required(path)
        return
    seen: set[str] = set()
    for index, version in enumerate(versions):
        if version in seen:
            yield invalid(f"{path}[{index}]", version, "duplicate version")
            continue
        seen.add(version)
        for problem in names.dns1035_label(version):
            yield invalid(f"{path}[{index}]", version, problem)
    if seen.isdisjoint(_REVIEWS):
        yield invalid(path, versions, f"must include at least one of {', '.join(_REVIEWS)}")
