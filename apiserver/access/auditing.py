"""The audit log of a server: its policy, its file and its webhook, from the options."""

from contextlib import AsyncExitStack
from pathlib import Path

from inkube.apiserver import auth, http
from inkube.apiserver.configuration import Options


def audit_log(options: Options, stack: AsyncExitStack) -> "http.audit.AuditLog | None":
    """Return the audit log, which `stack` closes; None with a policy only. Raises OSError,
    ValueError."""
    path = options.audit_policy_file
    policy = None if path is None else http.auditpolicy.read_policy(path)
    sinks = []
    if options.audit_log is not None:
        file = http.auditfiles.AuditFile(options.audit_log, _settings(options))
        size = options.audit_log_truncate_max_event_size
        sinks.append(_truncated(file, size, truncates=options.audit_log_truncate_enabled))
    if options.audit_webhook_config_file is not None:
        webhook = _webhook(options, options.audit_webhook_config_file, stack)
        size = options.audit_webhook_truncate_max_event_size
        sinks.append(_truncated(webhook, size, truncates=options.audit_webhook_truncate_enabled))
    if not sinks:
        return None
    log = http.audit.AuditLog(sinks, policy)
    stack.callback(log.close)
    return log


def _truncated(sink: "http.audit.Sink", size: int, *, truncates: bool) -> "http.audit.Sink":
    return http.auditfiles.Truncated(sink, size) if truncates else sink


def _settings(options: Options) -> "http.auditfiles.Settings":
    return http.auditfiles.Settings(
        options.audit_log_format,
        options.audit_log_maxsize,
        options.audit_log_maxbackup,
        options.audit_log_maxage,
        options.audit_log_compress,
        options.audit_log_mode,
    )


def _webhook(options: Options, config: Path, stack: AsyncExitStack) -> "auth.AuditWebhook":
    """Return the webhook for audit events. Raises OSError, ValueError."""
    client = auth.Outgoing(options.release)
    stack.push_async_callback(client.close)
    limits_batches = options.audit_webhook_batch_throttle_enable
    sink = auth.AuditWebhook(
        auth.webhookcalls.read(config),
        client,
        auth.Batches(
            options.audit_webhook_mode,
            options.audit_webhook_batch_buffer_size,
            options.audit_webhook_batch_max_size,
            options.audit_webhook_batch_max_wait,
            options.audit_webhook_batch_throttle_qps if limits_batches else 0.0,
            options.audit_webhook_batch_throttle_burst,
            options.audit_webhook_initial_backoff,
        ),
    )
    stack.push_async_callback(sink.drain)
    return sink
