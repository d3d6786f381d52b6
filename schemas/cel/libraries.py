"""All functions of the reference's environment, by name."""

from inkube.schemas.cel import optionals, standard
from inkube.schemas.cel.env import functions

FUNCTIONS = functions(standard.OVERLOADS, optionals.OVERLOADS)
