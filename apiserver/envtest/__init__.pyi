from inkube.apiserver.envtest import assets as assets
from inkube.apiserver.envtest import etcd as etcd
from inkube.apiserver.envtest import flags as flags
from inkube.apiserver.envtest import kubeapi as kubeapi
from inkube.apiserver.envtest import kubeflags as kubeflags
from inkube.apiserver.envtest.flags import Arguments as Arguments
from inkube.apiserver.envtest.flags import Flag as Flag
from inkube.apiserver.envtest.flags import FlagError as FlagError
