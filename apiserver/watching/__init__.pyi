from inkube.apiserver.watching import messages as messages
from inkube.apiserver.watching import shared as shared
from inkube.apiserver.watching.streams import OpenWatch as OpenWatch
from inkube.apiserver.watching.streams import Streams as Streams

SHARED: str
