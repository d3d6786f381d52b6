from inkube.apiserver.root import collector as collector
from inkube.apiserver.root import dangers as dangers
from inkube.apiserver.root import declared as declared
from inkube.apiserver.root import defaultobjects as defaultobjects
from inkube.apiserver.root import defaultroles as defaultroles
from inkube.apiserver.root import eventloop as eventloop
from inkube.apiserver.root import kubeconfig as kubeconfig
from inkube.apiserver.root import manifests as manifests
