from inkube.apiserver.streaming import commands as commands
from inkube.apiserver.streaming import forwards as forwards
from inkube.apiserver.streaming import logs as logs
from inkube.apiserver.streaming import sockets as sockets
