from inkube.apiserver.http.fast.connections import Server as Server
from inkube.apiserver.http.fast.versions import is_tested as is_tested
