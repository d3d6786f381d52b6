from inkube.apiserver.admission.createrights import CreateRights as CreateRights
from inkube.apiserver.admission.escalation import Escalation as Escalation
