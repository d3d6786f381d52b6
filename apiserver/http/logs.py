"""Structured log lines: one JSON object per line, or `key=value` text for people."""

import json
import logging
import sys
from typing import Any

ACCESS = "inkube.access"
"""The name of the logger for requests: one line per request."""
_PAINT = {"debug": "2", "warning": "33", "error": "31", "critical": "1;31"}
_STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}


class JSONFormatter(logging.Formatter):
    """Lines with time, level, logger, message and the members of `extra`."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one JSON object."""
        line = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **extra_of(record),
        }
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


class TextFormatter(logging.Formatter):
    """Lines of text for a terminal, with optional colours."""

    def __init__(self, *, colours: bool = False) -> None:
        super().__init__()
        self._colours = colours

    def format(self, record: logging.LogRecord) -> str:
        """Return one line, and below it the traceback of an exception."""
        time = self._paint("2", self.formatTime(record, "%H:%M:%S"))
        if record.name == ACCESS:
            return f"{time} {self._request(record)}"
        pairs = " ".join(f"{key}={value}" for key, value in extra_of(record).items() if value != "")
        level = record.levelname.lower()
        text = f"{record.getMessage()} {pairs}".rstrip()
        text = f"{time} {self._paint(_PAINT.get(level, ''), level)} {text}"
        if record.exc_info:
            text += "\n" + self.formatException(record.exc_info)
        return text

    def _request(self, record: logging.LogRecord) -> str:
        """Return code, method, path and time. The first parts have nearly constant widths."""
        extra = extra_of(record)
        code, uri = extra["code"], extra["path"]
        uri = f"{uri}?{extra['query']}" if extra["query"] else uri
        paint = {2: "32", 3: "36", 4: "33", 5: "31"}.get(int(str(code)) // 100, "")
        text = f"{self._paint(paint, str(code))} {extra['method']:<6} {uri}"
        took = f"{extra['milliseconds']:.1f} ms"
        return f"{text} {self._paint('2', took)}"

    def _paint(self, style: str, text: str) -> str:
        return f"\x1b[{style}m{text}\x1b[0m" if self._colours and style else text


class Protocol(logging.LoggerAdapter[logging.Logger]):
    """A logger for bytes that are not HTTP. Any client can send them, so they are not errors."""

    def exception(self, msg: object, *args: object, **kwargs: Any) -> None:
        """Log at the level DEBUG, without a traceback."""
        kwargs.pop("exc_info", None)
        self.debug(msg, *args, **kwargs)


def extra_of(record: logging.LogRecord) -> dict[str, object]:
    """Return the members of `extra`."""
    return {key: value for key, value in record.__dict__.items() if key not in _STANDARD}


def configure(
    *,
    style: str = "text",
    level: int = logging.INFO,
    requests: bool = False,
    colours: bool = False,
    formatter: logging.Formatter | None = None,
) -> None:
    """Send the package's log lines to stderr, with lines of requests if `requests` is set. A
    `formatter` replaces that of the style.

    Only the command line calls this.
    """
    handler = logging.StreamHandler(sys.stderr)
    if formatter is None:
        formatter = JSONFormatter() if style == "json" else TextFormatter(colours=colours)
    handler.setFormatter(formatter)
    root = logging.getLogger("inkube")
    root.handlers = [handler]
    root.setLevel(level)
    root.propagate = False
    logging.getLogger(ACCESS).setLevel(level if requests else logging.WARNING)
