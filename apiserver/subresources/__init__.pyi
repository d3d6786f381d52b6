from inkube.apiserver.subresources import containers as containers
from inkube.apiserver.subresources import metrics as metrics
from inkube.apiserver.subresources import podports as podports
from inkube.apiserver.subresources import proxies as proxies
from inkube.apiserver.subresources import recordedlogs as recordedlogs
from inkube.apiserver.subresources import table as table
from inkube.apiserver.subresources.binding import Binder as Binder
