from inkube.apiserver.scenarios.loading import SCENARIOS as SCENARIOS
from inkube.apiserver.scenarios.loading import Remote as Remote
from inkube.apiserver.scenarios.loading import Scenario as Scenario
from inkube.apiserver.scenarios.loading import UnknownScenario as UnknownScenario
from inkube.apiserver.scenarios.loading import Unloadable as Unloadable
from inkube.apiserver.scenarios.loading import find as find
from inkube.apiserver.scenarios.loading import load as load
from inkube.apiserver.scenarios.loading import of_kubeconfig as of_kubeconfig
