from inkube.apiserver.policies import plugin as plugin
from inkube.apiserver.policies.evaluation import Mutator as Mutator
from inkube.apiserver.policies.evaluation import PolicyEvaluator as PolicyEvaluator
