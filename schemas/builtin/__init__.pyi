from inkube.schemas.builtin import quotas as quotas
from inkube.schemas.builtin.definitions import by_name as by_name
from inkube.schemas.builtin.definitions import definitions as definitions
from inkube.schemas.builtin.resources import Resource as Resource
