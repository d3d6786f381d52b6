from inkube.apiserver.streaming import commands as commands
from inkube.apiserver.streaming import forwards as forwards
from inkube.apiserver.streaming import logs as logs
from inkube.apiserver.streaming import sockets as sockets
from inkube.apiserver.streaming.takeover import Feed as Feed
from inkube.apiserver.streaming.takeover import Takeover as Takeover
