from inkube.schemas.builtin.strategies.pods.pods import Pods as Pods
