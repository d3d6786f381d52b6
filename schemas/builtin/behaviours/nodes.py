"""Nodes: who registers one says what it has. Follows pkg/registry/core/node/strategy.go."""

from typing import Any

from inkube.schemas.builtin.behaviours.base import Behaviour

Object = dict[str, Any]


class Nodes(Behaviour):
    """A create may set the status, unlike that of other kinds."""

    def _reset_status(self, obj: Object) -> None:
        """Keep what the body says."""
