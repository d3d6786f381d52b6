from inkube.apiserver.registry.engine.fast import FastEngine as FastEngine
from inkube.apiserver.registry.engine.plain import PlainEngine as PlainEngine
