from inkube.apiserver.policies.evaluation.judging import PolicyEvaluator as PolicyEvaluator
from inkube.apiserver.policies.evaluation.mutating import Mutator as Mutator
