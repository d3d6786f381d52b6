"""The kube-apiserver that envtest starts: its arguments, its certificate, and its run.

It serves only Kubernetes' own kinds, and runs no controllers of kube-controller-manager, because
envtest does not run them. It writes no kubeconfig, because the caller has client certificates from
its own certificate authority. The code for first requests is loaded before the server is ready,
because envtest waits only five seconds for the namespace `default`.
"""

import contextlib
import logging
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

import inkube
from inkube import storage
from inkube.apiserver import auth, defaults, discovery, process, subresources
from inkube.apiserver.configuration import Options
from inkube.apiserver.envtest import etcd, klog, kubeflags
from inkube.apiserver.envtest.flags import Arguments, FlagError
from inkube.apiserver.http import logs
from inkube.schemas import builtin, releases

CERTIFICATES = "/var/run/kubernetes"
_REQUESTS, _DETAILS = 3, 4  # values of --v, as in apiserver/pkg/server/httplog


def run(arguments: Arguments) -> None:
    """Serve until SIGTERM or SIGINT.

    Raises FlagError, EtcdError, StorageError, OSError, ValueError.
    """
    if arguments.truth("version"):
        _print(sys.stdout, f"Kubernetes {releases.parse(arguments.last('kubernetes-version'))}")
        return
    verbosity = kubeflags.verbosity(arguments)
    style = arguments.last("logging-format", "text")
    logs.configure(
        style=style,
        level=logging.DEBUG if verbosity >= _DETAILS else logging.INFO,
        requests=verbosity >= _REQUESTS,
        formatter=None if style == "json" else klog.KlogFormatter(),
    )
    options = kubeflags.options(arguments)
    for line in kubeflags.ignored(arguments).lines():
        _print(sys.stderr, line)
    if not arguments.all("etcd-servers"):
        raise FlagError("--etcd-servers must be specified")
    with builtin.gates.overridden(kubeflags.gates(arguments)):
        process.eventloop.run(_serve(arguments, options))


async def _serve(arguments: Arguments, options: Mapping[str, Any]) -> None:
    stop = process.eventloop.Stop()
    data_file = await etcd.locate(arguments.all("etcd-servers"))
    certificate, key = _certificate(arguments, options["host"])
    _load_first_code()
    async with inkube.APIServer(
        Options(
            **options,
            data=data_file.data,
            durable=data_file.durable,
            tls_cert_file=certificate,
            tls_private_key_file=key,
        )
    ) as server:
        with process.collector.of_process() or contextlib.nullcontext():
            _print(sys.stderr, f"Serving securely on {server.url.removeprefix('https://')}")
            await stop.requested.wait()
        await stop.finish(server.stop)


def _load_first_code() -> None:
    """Load the code that the first requests of a client need."""
    _ = discovery.Discovery, defaults.objects, subresources.table


def _certificate(arguments: Arguments, host: str) -> tuple[Path, Path]:
    """Return the files of the serving certificate, and create it in --cert-dir if it is missing.

    Follows apiserver/pkg/server/options/serving.go, MaybeDefaultWithSelfSignedCerts.
    """
    paths = arguments.last("tls-cert-file"), arguments.last("tls-private-key-file")
    if all(paths):
        return Path(paths[0]), Path(paths[1])
    folder = Path(arguments.last("cert-dir", CERTIFICATES))
    certificate, key = folder / "apiserver.crt", folder / "apiserver.key"
    if not (certificate.exists() and key.exists()):
        folder.mkdir(parents=True, exist_ok=True)
        advertised = arguments.last("advertise-address")
        pair = auth.certificates.make_server([each for each in (host, advertised) if each])
        storage.wholefiles.write(key, pair.key, mode=storage.wholefiles.PRIVATE)
        storage.wholefiles.write(certificate, pair.chain + pair.authority)
    return certificate, key


def _print(stream: TextIO, text: str) -> None:
    print(text, file=stream, flush=True)
