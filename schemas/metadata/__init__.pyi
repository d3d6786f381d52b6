from inkube.schemas.metadata import metadecoding as metadecoding
from inkube.schemas.metadata import names as names
from inkube.schemas.metadata import objectmeta as objectmeta
from inkube.schemas.metadata.columns import AGE as AGE
from inkube.schemas.metadata.columns import NAME as NAME
