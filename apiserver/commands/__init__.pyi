from inkube.apiserver.commands import exporting as exporting
from inkube.apiserver.commands.envtest import envtest_assets as envtest_assets
from inkube.apiserver.commands.envtest import etcd_command as etcd_command
from inkube.apiserver.commands.envtest import kube_apiserver as kube_apiserver
from inkube.apiserver.envtest import kubeapi as kubeapi
