# A scenario
from inkube.apiserver.explore import Scenario as Scenario
from inkube.apiserver.explore import Command as Command
from inkube.apiserver.explore import Coroutine as Coroutine
from inkube.apiserver.explore import InProcess as InProcess
from inkube.apiserver.explore import Suite as Suite
from inkube.apiserver.explore import Action as Action
from inkube.apiserver.explore import apply as apply
from inkube.apiserver.explore import patch as patch
from inkube.apiserver.explore import delete as delete
from inkube.apiserver.explore import advance as advance
from inkube.apiserver.explore import wait as wait
from inkube.apiserver.explore import together as together
from inkube.apiserver.explore import Rule as Rule
from inkube.apiserver.explore import rule as rule
from inkube.apiserver.explore import read as read
from inkube.apiserver.explore import parse as parse

# Its exploration
from inkube.apiserver.explore import explore as explore
from inkube.apiserver.explore import check as check
from inkube.apiserver.explore import Limits as Limits
from inkube.apiserver.explore import Exploration as Exploration
from inkube.apiserver.explore import Finding as Finding
from inkube.apiserver.explore import Plan as Plan
from inkube.apiserver.explore import ExplorationError as ExplorationError
from inkube.apiserver.explore import ScenarioError as ScenarioError
