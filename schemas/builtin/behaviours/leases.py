"""Leases and priority classes, of which the table of rules has the rest."""

from inkube.schemas.builtin.behaviours.base import Behaviour


class Leases(Behaviour):
    """PUT creates."""

    create_on_update = True
    unconditional_update = False


class PriorityClasses(Behaviour):
    """Their generation stays at 1."""

    generation = ()
