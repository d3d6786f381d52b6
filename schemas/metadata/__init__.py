"""The metadata of objects: its decoding, valid names, permitted changes.

The functions take the `metadata` of any object, and return a typed form, errors and warnings. The
strategy of every kind uses them. Additional rules of a kind are with this kind.
"""

from inkube.schemas.metadata import metadecoding as metadecoding
from inkube.schemas.metadata import names as names
from inkube.schemas.metadata import objectmeta as objectmeta
from inkube.schemas.metadata.columns import AGE as AGE
from inkube.schemas.metadata.columns import NAME as NAME
