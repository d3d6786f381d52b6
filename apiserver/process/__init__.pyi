from inkube.apiserver.process import collector as collector
from inkube.apiserver.process import dangers as dangers
from inkube.apiserver.process import eventloop as eventloop
from inkube.apiserver.process import trimming as trimming
