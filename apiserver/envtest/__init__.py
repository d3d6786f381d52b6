"""What controller-runtime's envtest, jenvtest and fabric8's kube-api-test start, played by inkube.

In come the arguments they give `kube-apiserver` and `etcd`; out come a server, and an etcd that
says it is healthy and where the data lies. `assets` writes the folder that KUBEBUILDER_ASSETS
names; `commands` calls all three.

    flags       arguments as pflag and Go's flag read them: pure
    kubeflags   what the flags of kube-apiserver mean here: pure
    kubeapi     the server, from its arguments to the signal that ends it
    etcd        the etcd: nothing but the standard library, so that it starts at once
    assets      the folder of programs
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
