from inkube.apiserver.validate import reports as reports
from inkube.apiserver.validate import settings as settings
from inkube.apiserver.validate.plan import InputError as InputError
from inkube.apiserver.validate.plan import Plan as Plan
from inkube.apiserver.validate.plan import Result as Result
from inkube.apiserver.validate.plan import Skipped as Skipped
from inkube.apiserver.validate.running import Progress as Progress
from inkube.apiserver.validate.running import run as run
