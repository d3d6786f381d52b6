from inkube.apiserver.faults import effects as effects
from inkube.apiserver.faults import rules as rules
