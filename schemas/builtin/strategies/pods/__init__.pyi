from inkube.schemas.builtin.strategies.pods.pods import Pods as Pods
from inkube.schemas.builtin.strategies.pods.pods import PodTemplates as PodTemplates
from inkube.schemas.builtin.strategies.pods.pods import qos_class as qos_class
