"""The restarts of ended containers, as validation of statuses and simulated kubelets decide them.

Follows ContainerShouldRestart and AllContainersCouldRestart of pkg/api/v1/pod/util.go.
"""

from inkube.schemas.objects import Object

RESTART, RESTART_ALL = "Restart", "RestartAllContainers"


def action(container: Object, policy: str, code: int) -> str:
    """Return what follows the end of a container with an exit code: RESTART, RESTART_ALL, or "" for
    nothing.

    `container`: its specification, whose rules precede its own policy, which precedes `policy`, the
    restartPolicy of the pod.
    """
    own = container.get("restartPolicy")
    for rule in (container.get("restartPolicyRules") or ()) if own else ():
        codes = rule.get("exitCodes")
        if codes and (code in (codes.get("values") or ())) == (codes.get("operator") == "In"):
            return str(rule["action"])
    policy = own or policy
    return RESTART if policy == "Always" or (policy == "OnFailure" and code) else ""


def can_restart_all(spec: Object) -> bool:
    """Return whether a rule of a container restarts all containers of the pod."""
    return any(
        rule.get("action") == RESTART_ALL
        for member in ("initContainers", "containers")
        for container in spec.get(member) or ()
        for rule in container.get("restartPolicyRules") or ()
    )
