from inkube.apiserver.policies import plugin as plugin
from inkube.apiserver.policies.judging import PolicyEvaluator as PolicyEvaluator
from inkube.apiserver.policies.mutating import Mutator as Mutator
