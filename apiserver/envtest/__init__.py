"""Replacements for the programs that controller-runtime's envtest, jenvtest and fabric8's
kube-api-test start.

Input: the arguments for `kube-apiserver` and `etcd`. Output: a server, and an etcd that reports its
health and the location of the data. `assets` writes the folder that KUBEBUILDER_ASSETS names;
`commands` calls all three.

    flags       parses arguments as pflag and Go's flag do, without I/O
    kubeflags   the meaning of kube-apiserver's flags in inkube, without I/O
    kubeapi     the server, from its arguments to the signal that ends it
    klog        lines of its log in klog's form
    etcd        the etcd, which imports only the standard library, so that it starts fast
    assets      the folder of programs
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
