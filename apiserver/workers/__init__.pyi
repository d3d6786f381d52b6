from inkube.apiserver.workers.leader import Believed as Believed
from inkube.apiserver.workers.leader import Leader as Leader
from inkube.apiserver.workers.leader import listening as listening
from inkube.apiserver.workers.member import Intake as Intake
from inkube.apiserver.workers.member import Worker as Worker
from inkube.apiserver.workers.parent import Parent as Parent
from inkube.apiserver.workers.refusals import check as check
from inkube.apiserver.workers.siblings import Siblings as Siblings
