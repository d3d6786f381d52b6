from inkube.apiserver.faults import effects as effects
from inkube.apiserver.faults import rules as rules
from inkube.apiserver.faults.active import Faults as Faults
from inkube.apiserver.faults.trouble import Trouble as Trouble
from inkube.apiserver.faults.trouble import Watching as Watching
