from inkube.apiserver.aggregation.aggregator import Aggregator as Aggregator
