"""Log lines in the form of klog, which tools for logs of kube-apiserver read.

Follows klog/v2 and apiserver/pkg/server/httplog.
"""

import logging
from typing import Any

from inkube.apiserver.http import logs
from inkube.schemas.golang import gotime, quote

_SCOPED = {
    "list": "LIST", "watch": "WATCH", "watchone": "WATCH", "deletecollection": "DELETECOLLECTION",
}  # fmt: skip
"""Verbs that lines of klog show instead of the method (endpoints/metrics, canonicalVerb)."""


class KlogFormatter(logging.Formatter):
    """Lines in the form of klog: `I0102 15:04:05.000000 PID FILE:LINE] "message" key="value"`.

    A request has the members of apiserver/pkg/server/httplog, but its source has no port.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return one line, and below it the traceback of an exception."""
        time = self.formatTime(record, "%m%d %H:%M:%S")
        micros = int(record.created % 1 * 1e6)
        place = f"{record.process:>7} {record.filename}:{record.lineno}]"
        is_request = record.name == logs.ACCESS
        message = "HTTP" if is_request else record.getMessage()
        members = _http_members(record) if is_request else logs.extra_of(record)
        pairs = (f" {key}={_klog_value(value)}" for key, value in members.items())
        letter = record.levelname[0].replace("C", "F").replace("D", "I")
        text = f"{letter}{time}.{micros:06} {place} {quote(message)}{''.join(pairs)}"
        return f"{text}\n{self.formatException(record.exc_info)}" if record.exc_info else text


def _http_members(record: logging.LogRecord) -> dict[str, object]:
    extra: dict[str, Any] = logs.extra_of(record)
    verb = _SCOPED.get(extra["verb"]) or extra["method"].replace("HEAD", "GET")
    return {
        "verb": verb,
        "URI": f"{extra['path']}?{extra['query']}" if extra["query"] else extra["path"],
        "latency": gotime.format_duration(round(extra["milliseconds"] * 10**6)),
        "userAgent": extra["user_agent"],
        "audit-ID": extra["request_id"],
        "srcIP": extra["source"],
        "resp": extra["code"],
    }


def _klog_value(value: object) -> str:
    return str(value) if isinstance(value, int | float) else quote(str(value))
