from inkube.schemas.builtin.rules.calls.scheduling import SYSTEM_PRIORITIES as SYSTEM_PRIORITIES
from inkube.schemas.builtin.rules.compiler import errors as errors
from inkube.schemas.builtin.rules.frames import UNCHECKED as UNCHECKED
from inkube.schemas.builtin.rules.frames import MetadataChecks as MetadataChecks
from inkube.schemas.builtin.rules.kinds import Rulebook as Rulebook
from inkube.schemas.builtin.rules.kinds import book as book
from inkube.schemas.builtin.rules.kinds import fill as fill
