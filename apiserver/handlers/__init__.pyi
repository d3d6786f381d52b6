from inkube.apiserver.handlers import packed as packed
from inkube.apiserver.handlers import tables as tables
from inkube.apiserver.handlers.routes import STREAMED as STREAMED
from inkube.apiserver.handlers.routes import WATCHES as WATCHES
from inkube.apiserver.handlers.routes import Routes as Routes
from inkube.apiserver.handlers.verbs import Exchange as Exchange
from inkube.apiserver.handlers.verbs import Handler as Handler
from inkube.apiserver.handlers.verbs import Handlers as Handlers
