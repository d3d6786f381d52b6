from inkube.apiserver.leadership import leading as leading
from inkube.apiserver.leadership.leading import Fence as Fence
from inkube.apiserver.leadership.leading import Leadership as Leadership
