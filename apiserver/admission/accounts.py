"""Admission of pods by their ServiceAccount, which must exist, and whose token is mounted.

Follows plugin/pkg/admission/serviceaccount. As upstream, a pod waits a moment for an account
`default` that does not exist yet.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import closing

from inkube.apiserver.registry import Plugin, Write, keys, refused
from inkube.schemas.builtin import podreferences
from inkube.schemas.objects import Object
from inkube.storage import Store

DEFAULT = "default"
PATIENCE = 1.8
"""Seconds that a pod waits for its namespace's account `default`.

Upstream looks ten times, with the same random pause of 100 to 199 ms between two looks: it gives up
after 0.9 to 1.8 s. Here an account is noticed at once, so only the longest of these counts.
"""
_ENFORCED = "kubernetes.io/enforce-mountable-secrets"
_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
_VOLUME = "kube-api-access-"
_SECONDS = 3607
"""The validity of the token in seconds: one hour, plus a margin for the kubelet to fetch the next
one."""
_KINDS = {
    "initContainers": "init container",
    "containers": "container",
    "ephemeralContainers": "ephemeral container",
}


class ServiceAccounts(Plugin):
    """Sets the default account of pods, mounts its token in each container, and adds its pull
    secrets."""

    name = "ServiceAccount"
    kinds = (("", "pods"),)
    operations = ("CREATE",)

    def __init__(self, store: Store, generate_name: Callable[[str], str]) -> None:
        self._store = store
        self._generate_name = generate_name

    async def mutate(self, write: Write) -> None:
        pod, request = write.object, write.request
        if pod is None or request.subresource or podreferences.is_mirror(pod):
            return
        spec = pod["spec"]
        name = spec.get("serviceAccountName") or DEFAULT
        spec["serviceAccountName"] = spec["serviceAccount"] = name
        account = await self._account(pod, write)
        if _mounts(account, spec):
            self._mount(spec)
        if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
            spec["imagePullSecrets"] = [
                {"name": one.get("name", "")} for one in account["imagePullSecrets"]
            ]

    async def validate(self, write: Write) -> None:
        pod, request = write.object, write.request
        if pod is None or request.subresource:
            return
        if podreferences.is_mirror(pod):
            why = _wrong_with_mirror(pod["spec"])
        else:
            account = await self._account(pod, write)
            notes = account["metadata"].get("annotations") or {}
            limited = notes.get(_ENFORCED, "").lower() in ("true", "t", "1")
            why = next(_not_referenced(account, pod["spec"]), "") if limited else ""
        if why:
            raise refused(write, why)

    async def _account(self, pod: Object, write: Write) -> Object:
        """Return the pod's account. Raises StatusError 403 if it does not exist."""
        namespace = write.request.namespace
        wanted = pod["spec"].get("serviceAccountName") or ""
        key = keys.key("serviceaccounts", namespace, wanted)
        if wanted == DEFAULT and self._store.get(key) is None:
            await self._appears(key)
        entry = self._store.get(key)
        if entry is None:
            why = (
                f"error looking up service account {namespace}/{wanted}: "
                f'serviceaccount "{wanted}" not found'
            )
            raise refused(write, why)
        found: Object = entry.value
        return found

    async def _appears(self, key: str) -> None:
        there = asyncio.Event()
        following = self._store.follow(key, lambda changes: there.set(), on_relist=there.set)
        with closing(following):
            try:
                async with asyncio.timeout(PATIENCE):
                    await there.wait()
            except TimeoutError:
                return  # the caller reports the missing account

    def _mount(self, spec: Object) -> None:
        """Mount a token in every container that has no other mount at its path."""
        volumes = spec.get("volumes") or []
        names = (one["name"] for one in volumes if one["name"].startswith(_VOLUME))
        present = next(names, "")
        name = present or self._generate_name(_VOLUME)
        needed = False
        for member in ("initContainers", "containers"):
            for container in spec.get(member) or ():
                mounts = container.get("volumeMounts") or []
                if any(mount.get("mountPath") == _PATH for mount in mounts):
                    continue
                mount = {"name": name, "readOnly": True, "mountPath": _PATH}
                container["volumeMounts"] = [*mounts, mount]
                needed = True
        if needed and not present:
            spec["volumes"] = [*volumes, {"name": name, "projected": _projected()}]


def _mounts(account: Object, spec: Object) -> bool:
    wanted = spec.get("automountServiceAccountToken")
    if wanted is None:
        wanted = account.get("automountServiceAccountToken")
    return wanted is not False


def _projected() -> Object:
    namespace = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
    return {
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": _SECONDS, "path": "token"}},
            {
                "configMap": {
                    "name": "kube-root-ca.crt",
                    "items": [{"key": "ca.crt", "path": "ca.crt"}],
                }
            },
            {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": namespace}]}},
        ],
        "defaultMode": 0o644,
    }


def _wrong_with_mirror(spec: Object) -> str:
    if spec.get("serviceAccountName"):
        return "a mirror pod may not reference service accounts"
    if any(each.kind == "Secret" and each.name for each in podreferences.of_spec(spec)):
        return "a mirror pod may not reference secrets"
    for volume in spec.get("volumes") or ():
        sources = (volume.get("projected") or {}).get("sources") or ()
        if any("serviceAccountToken" in source for source in sources):
            return "a mirror pod may not use ServiceAccountToken volume projections"
    return ""


def _not_referenced(account: Object, spec: Object) -> Iterator[str]:
    """Yield an error for each Secret of a pod that its account does not list. Only accounts that
    limit Secrets are checked."""
    allowed = {one.get("name") for one in account.get("secrets") or ()}
    pulled = {one.get("name") for one in account.get("imagePullSecrets") or ()}
    tail = (
        f"is not allowed because service account {account['metadata']['name']} does not reference"
    )
    for each in podreferences.of_spec(spec):
        secret = f'secret.secretName="{each.name}"'
        match each.path:
            case ("imagePullSecrets", at):
                if each.name not in pulled:
                    yield f'imagePullSecrets[{at}].name="{each.name}" {tail} that imagePullSecret'
            case _ if each.kind != "Secret" or each.name in allowed:
                continue
            case ("volumes", _, "secret"):
                yield f"volume with {secret} {tail} that secret"
            case (str(group), int(at), str(member), int(number), *_) if group in _KINDS:
                container = spec[group][at]
                variable = (
                    f"envVar {container['env'][number]['name']}" if member == "env" else member
                )
                yield (
                    f"{_KINDS[group]} {container['name']} with {variable} referencing {secret} "
                    f"{tail} that secret"
                )
