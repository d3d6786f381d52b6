from inkube.apiserver.aggregation.aggregator import Aggregator as Aggregator
from inkube.apiserver.aggregation.proxy import pass_on as pass_on
from inkube.apiserver.aggregation.upstreams import Neighbour as Neighbour
