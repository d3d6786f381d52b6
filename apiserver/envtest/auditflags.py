"""The flags of kube-apiserver for audit events, as options of inkube.

Follows apiserver/pkg/server/options/audit.go.
"""

from collections.abc import Mapping
from typing import Any

from inkube.apiserver.envtest import flags
from inkube.apiserver.envtest.flags import Arguments, Flag, FlagError

FLAGS: Mapping[str, Flag] = {
    "audit-log-compress": Flag("bool", "Whether full audit logs are compressed with gzip."),
    "audit-log-format": Flag("text", "json or legacy."),
    "audit-log-maxage": Flag("text", "Days for which full audit logs are kept."),
    "audit-log-maxbackup": Flag("text", "Full audit logs that are kept."),
    "audit-log-maxsize": Flag("text", "Megabytes of a full audit log."),
    "audit-log-mode": Flag("text", "batch, blocking or blocking-strict: blocking."),
    "audit-log-path": Flag("text", "Append audit events to this file; - is standard output."),
    "audit-log-truncate-enabled": Flag("bool", "Whether large events lose their bodies."),
    "audit-log-truncate-max-event-size": Flag("text", "Bytes of the largest event: 102400."),
    "audit-log-version": Flag("text", "audit.k8s.io/v1."),
    "audit-policy-file": Flag("text", "Which requests the audit log tells of."),
    "audit-webhook-batch-max-wait": Flag("text", "When events are sent to the webhook: 30s."),
    "audit-webhook-batch-buffer-size": Flag("text", "Events that can wait: 10000."),
    "audit-webhook-batch-max-size": Flag("text", "Events of a batch: 400."),
    "audit-webhook-batch-throttle-burst": Flag("text", "Batches that need not wait: 15."),
    "audit-webhook-batch-throttle-enable": Flag("bool", "Whether batches are limited: true."),
    "audit-webhook-batch-throttle-qps": Flag("text", "Batches for each second: 10."),
    "audit-webhook-initial-backoff": Flag("text", "When a failed batch is sent again: 10s."),
    "audit-webhook-mode": Flag("text", "batch, blocking or blocking-strict: batch."),
    "audit-webhook-truncate-enabled": Flag("bool", "Whether large events lose their bodies."),
    "audit-webhook-truncate-max-event-size": Flag("text", "Bytes of the largest event: 102400."),
    "audit-webhook-version": Flag("text", "audit.k8s.io/v1."),
    "audit-webhook-config-file": Flag("text", "Kubeconfig of a webhook for audit events."),
}
_VERSION = "audit.k8s.io/v1"
_MODES = ("batch", "blocking", "blocking-strict")


def options(arguments: Arguments) -> dict[str, Any]:
    """Return the options of the audit log and the webhook for audit events. Raises FlagError in the
    words of apiserver/pkg/server/options/audit.go, Validate."""
    result: dict[str, Any] = {}
    for name, what in (
        ("log-maxage", ""),
        ("log-maxbackup", ""),
        ("log-maxsize", ""),
        ("log-truncate-max-event-size", "truncate log max event size"),
        ("webhook-batch-buffer-size", "batch webhook buffer size"),
        ("webhook-batch-max-size", "batch webhook max batch size"),
        ("webhook-batch-throttle-burst", "batch webhook throttle burst"),
        ("webhook-truncate-max-event-size", "truncate webhook max event size"),
    ):
        flag = f"audit-{name}"
        if not arguments.last(flag):
            continue
        number = flags.integer(flag, arguments.last(flag))
        if number < 0 and not what:
            raise FlagError(f"--{flag} {number} can't be a negative number")
        if number <= 0 and what:
            raise FlagError(f"invalid audit {what} {number}, must be a positive number")
        result[flag.replace("-", "_")] = number
    if arguments.last("audit-webhook-batch-throttle-qps"):
        qps = _number("audit-webhook-batch-throttle-qps", arguments)
        if qps <= 0:
            given = f"{qps:g}"
            raise FlagError(
                f"invalid audit batch webhook throttle QPS {given}, must be a positive number"
            )
        result["audit_webhook_batch_throttle_qps"] = qps
    for flag, is_on in (
        ("audit-log-compress", False),
        ("audit-log-truncate-enabled", False),
        ("audit-webhook-batch-throttle-enable", True),
        ("audit-webhook-truncate-enabled", False),
    ):
        result[flag.replace("-", "_")] = arguments.last(flag, str(is_on)) in flags.TRUE
    for backend, default in (("log", "blocking"), ("webhook", "batch")):
        mode = arguments.last(f"audit-{backend}-mode", default)
        if mode not in _MODES:
            allowed = ",".join(_MODES)
            raise FlagError(f'invalid audit {backend} mode {mode}, allowed modes are "{allowed}"')
        result[f"audit_{backend}_mode"] = mode
        if arguments.last(f"audit-{backend}-version", _VERSION) != _VERSION:
            raise FlagError(f'invalid group version, allowed versions are ["{_VERSION}"]')
    style = arguments.last("audit-log-format", "json")
    if style not in ("json", "legacy"):
        raise FlagError(f'invalid audit log format {style}, allowed formats are "legacy,json"')
    return {**result, "audit_log_format": style}


def _number(flag: str, arguments: Arguments) -> float:
    text = arguments.last(flag)
    try:
        return float(text)
    except ValueError as error:
        raise FlagError(
            f'invalid argument "{text}" for "--{flag}" flag: strconv.ParseFloat: parsing '
            f'"{text}": invalid syntax'
        ) from error
