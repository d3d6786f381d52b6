from inkube.apiserver.streaming import commands as commands
from inkube.apiserver.streaming import forwards as forwards
