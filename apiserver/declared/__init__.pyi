from inkube.apiserver.declared import exporting as exporting
from inkube.apiserver.declared import serveraccess as serveraccess
from inkube.apiserver.declared import startmodules as startmodules
from inkube.apiserver.declared.hosts import Host as Host
from inkube.apiserver.declared.judging import judged_kinds as judged_kinds
from inkube.apiserver.declared.kinds import install as install
