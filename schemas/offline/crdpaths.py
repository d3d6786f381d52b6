"""Field paths in errors of CRDs, which are those of the internal version, as v1 has them."""

_INTERNAL = (
    ("spec.validation", "spec.versions[0].schema"),
    ("spec.subresources", "spec.versions[0].subresources"),
    ("spec.additionalPrinterColumns", "spec.versions[0].additionalPrinterColumns"),
    ("spec.selectableFields", "spec.versions[0].selectableFields"),
    ("spec.version.", "spec.versions[0].name"),
    ("spec.conversion.webhookClientConfig", "spec.conversion.webhook.clientConfig"),
    (
        "spec.conversion.conversionReviewVersions",
        "spec.conversion.webhook.conversionReviewVersions",
    ),
)


def in_file(path: str) -> str:
    """Convert a field path of the internal version to the path in v1."""
    if path == "spec.version":
        return "spec.versions[0].name"
    for internal, written in _INTERNAL:
        if path.startswith(internal):
            path = written + path.removeprefix(internal)
            break
    return path.replace(".JSONPath", ".jsonPath")
