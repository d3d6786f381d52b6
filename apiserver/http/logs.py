"""Structured log lines: one JSON object a line, or `key=value` text for people."""

import json
import logging
import sys
from typing import Any

_STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}


class JSONFormatter(logging.Formatter):
    """Time, level, logger, message and whatever `extra` brought."""

    def format(self, record: logging.LogRecord) -> str:
        """One JSON object."""
        line = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_extra(record),
        }
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


class TextFormatter(logging.Formatter):
    """The same for a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        """One line, and the trace of an exception below it."""
        pairs = " ".join(f"{key}={value}" for key, value in _extra(record).items() if value != "")
        text = f"{self.formatTime(record, '%H:%M:%S')} {record.levelname.lower()} "
        text += f"{record.getMessage()} {pairs}".rstrip()
        if record.exc_info:
            text += "\n" + self.formatException(record.exc_info)
        return text


class Protocol(logging.LoggerAdapter[logging.Logger]):
    """For what is no HTTP at all: anybody may send it, so it is no error and has no trace."""

    def exception(self, msg: object, *args: object, **kwargs: Any) -> None:
        """Log it as news for debugging, without its trace."""
        kwargs.pop("exc_info", None)
        self.debug(msg, *args, **kwargs)


def _extra(record: logging.LogRecord) -> dict[str, object]:
    return {key: value for key, value in record.__dict__.items() if key not in _STANDARD}


def configure(*, style: str = "text", level: int = logging.INFO) -> None:
    """Send the package's log lines to stderr. Called by the command line only."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JSONFormatter() if style == "json" else TextFormatter())
    root = logging.getLogger("inkube")
    root.handlers = [handler]
    root.setLevel(level)
    root.propagate = False
