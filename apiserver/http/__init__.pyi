from inkube.apiserver.http import audit as audit
from inkube.apiserver.http import exposition as exposition
from inkube.apiserver.http import outgoing as outgoing
from inkube.apiserver.http import packing as packing
from inkube.apiserver.http import yamls as yamls
from inkube.apiserver.http.records import RequestRecord as RequestRecord
