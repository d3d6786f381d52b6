from inkube.apiserver.aggregation.aggregator import Aggregator as Aggregator
from inkube.apiserver.aggregation.upstreams import Neighbour as Neighbour
