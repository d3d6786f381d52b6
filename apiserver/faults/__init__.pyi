from inkube.apiserver.faults import effects as effects
from inkube.apiserver.faults import rules as rules
from inkube.apiserver.faults.active import Faults as Faults
from inkube.apiserver.faults.injections import Injection as Injection
from inkube.apiserver.faults.injections import WatchFault as WatchFault
