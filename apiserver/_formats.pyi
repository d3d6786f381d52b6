# Objects
from inkube.schemas import bodies as bodies
from inkube.schemas import fielderrors as fielderrors
from inkube.schemas.builtin import resources as resources
from inkube.schemas.meta import controller_reference as controller_reference
from inkube.schemas.meta import format_micro_time as format_micro_time
from inkube.schemas.meta import format_time as format_time
from inkube.schemas.meta import split_api_version as split_api_version
from inkube.schemas.metadata import names as names
from inkube.schemas.objects import same as same

# Values
from inkube.schemas import quantity as quantity
from inkube.schemas import selectors as selectors

# Expressions and documents
from inkube.schemas import cel as cel
from inkube.schemas import documents as documents
from inkube.schemas.builtin import deviceselectors as deviceselectors
from inkube.schemas.builtin import podrestarts as podrestarts

# Formats of Go
from inkube.schemas.golang import DecodeError as DecodeError
from inkube.schemas.golang import cron as cron
from inkube.schemas.golang import gotext as gotext
from inkube.schemas.golang import gotime as gotime
from inkube.schemas.golang import goyaml as goyaml
from inkube.schemas.golang import regexp as regexp
from inkube.schemas.golang import rfc3339 as rfc3339

# Bounded memory
from inkube.schemas import caches as caches
