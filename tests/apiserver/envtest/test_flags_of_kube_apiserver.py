"""The law of flags: each works, or ends the start in upstream's words, or has a line of its own.

The answers are those of kube-apiserver 1.36.2 to the same command lines.
"""

import json
from datetime import timedelta

import pytest

from inkube import APIServer, StatusError
from inkube.apiserver.envtest import Flag, FlagError, flags, kubeflags
from inkube.controllers.clock import FakeClock


def parsed(*given):
    return flags.parse("kube-apiserver", given, kubeflags.FLAGS)


def started(arguments):
    """Read a command line as a start does."""
    return kubeflags.options(arguments), list(kubeflags.ignored(arguments).lines())


@pytest.mark.parametrize(
    "name", sorted({*kubeflags.FLAGS} - {*kubeflags.SUPPORTED, "feature-gates"})
)
def test_every_unsupported_flag_has_a_warning(name):
    flag: Flag = kubeflags.FLAGS[name]
    value = {"bool": "true"}.get(flag.kind, "1")
    told = "\n".join(kubeflags.ignored(parsed(f"--{name}={value}")).lines())
    assert f"without effect: --{name}" in told


def test_no_flag_is_in_two_lists():
    lists = (
        kubeflags.SUPPORTED, kubeflags.NEGLIGIBLE_SWITCHES, kubeflags.NEGLIGIBLE_OPTIONS,
        kubeflags.UNSUPPORTED_SWITCHES, kubeflags.UNSUPPORTED_OPTIONS,
    )  # fmt: skip
    every = [name for names in lists for name in names]
    assert len(every) == len(set(every))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("--bogus-flag=1", "unknown flag: --bogus-flag"),
        (
            "--secure-port=0",
            "--secure-port 0 must be between 1 and 65535, inclusive. It cannot be turned off",
        ),
        ("--tls-min-version=VersionTLS99", 'unknown tls version "VersionTLS99"'),
        ("--authorization-mode=Webhook", "Webhook's authorization config file not passed"),
        ("--authorization-mode=ABAC", "ABAC's authorization policy file not passed"),
        ("--authorization-policy-file=f", "cannot specify --authorization-policy-file without mod"),
        (
            "--encryption-provider-config=/nonexistent",
            'file "/nonexistent": open /nonexistent: no such file or directory',
        ),
        ("--oidc-issuer-url=http://x", "oidc-issuer-url and oidc-client-id must be specified tog"),
        ("--service-account-issuer=", "service-account-issuer should not be an empty string"),
        ("--feature-gates=A=maybe", 'parsing "maybe": invalid syntax'),
        ("--feature-gates=A", "missing bool value for A"),
        (
            "--runtime-config=/v1=true,api/all=false",
            "--runtime-config=api/all=false conflicts with --enable-priority-and-fairness=true",
        ),
        ("--logging-format=xml", 'format: Invalid value: "xml": Unsupported log format'),
    ],
)
def test_a_wrong_value_ends_the_start(given, told):
    with pytest.raises(FlagError) as error:
        started(parsed(given))
    assert told in str(error.value)


@pytest.mark.parametrize(
    ("given", "lines"),
    [
        ("--feature-gates=Bogus=true", ["feature gates unknown here, without effect: Bogus"]),
        (
            "--feature-gates=WatchList=true",
            ["harmless here, without effect: --feature-gates=WatchList=true"],
        ),
        (
            "--feature-gates=WatchList=false,AllAlpha=true",
            [
                (
                    "NOT SUPPORTED here, without effect: --feature-gates=WatchList=false, "
                    "--feature-gates=AllAlpha=true"
                )
            ],
        ),
        (
            "--runtime-config=storage.k8s.io/v1beta1=true,batch/v1=false,apps/v1=true",
            ["NOT SUPPORTED here, without effect: --runtime-config=storage.k8s.io/v1beta1=true"],
        ),
        (
            "--runtime-config=apps/v1/deployments=true,apps/v1/ships=true,api/ga=true,api/beta=0",
            ["NOT SUPPORTED here, without effect: --runtime-config=apps/v1/ships=true"],
        ),
        ("--feature-gates=ConstrainedImpersonation=false", []),
        (
            "--service-account-signing-endpoint=@signer",
            ["NOT SUPPORTED here, without effect: --service-account-signing-endpoint"],
        ),
        ("--profiling=false", ["harmless here, without effect: --profiling"]),
    ],
)
def test_warnings_distinguish_unknown_harmless_and_unsupported_flags(given, lines):
    assert list(kubeflags.ignored(parsed(given)).lines()) == lines


@pytest.mark.parametrize(
    ("given", "option", "value"),
    [
        ("--emulated-version=1.35", "kubernetes_version", "1.35"),
        ("--emulated-version=kube=1.34", "kubernetes_version", "1.34"),
        ("--authorization-mode=AlwaysDeny", "authorization_mode", "AlwaysDeny"),
        ("--authorization-mode=Node,RBAC", "authorization_mode", "Node,RBAC"),
        ("--anonymous-auth=false", "anonymous_auth", False),
        ("--allow-privileged", "allow_privileged", True),
        (
            "--service-cluster-ip-range=10.0.0.0/24,fd00::/108",
            "service_cluster_ip_range",
            "10.0.0.0/24,fd00::/108",
        ),
        ("--service-node-port-range=30000-30001", "service_node_port_range", "30000-30001"),
        (
            "--service-account-max-token-expiration=1h",
            "service_account_max_token_expiration",
            3600.0,
        ),
        (
            "--service-account-extend-token-expiration=false",
            "service_account_extend_token_expiration",
            False,
        ),
        ("--default-not-ready-toleration-seconds=10", "default_not_ready_toleration_seconds", 10),
    ],
)
def test_a_flag_becomes_an_option(given, option, value):
    assert kubeflags.options(parsed(given))[option] == value


def service(port):
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": f"x{port}", "namespace": "default"},
        "spec": {"type": "NodePort", "ports": [{"port": 80, "nodePort": port}]},
    }


def pod():
    container = {"name": "c", "image": "x", "securityContext": {"privileged": True}}
    meta = {"name": "p", "namespace": "default"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta,
        "spec": {"containers": [container]},
    }


async def test_options_of_services_and_pods_hold():
    async with APIServer(
        service_node_port_range="30000-30001", allow_privileged=False, modules="none"
    ) as server:
        await server.client.create(service(30000))
        with pytest.raises(StatusError) as error:
            await server.client.create(service(31000))
        assert error.value.message == (
            'Service "x31000" is invalid: spec.ports[0].nodePort: Invalid value: 31000: provided '
            "port is not in the valid range. The range of valid ports is 30000-30001"
        )
        with pytest.raises(StatusError) as error:
            await server.client.create(pod())
        assert error.value.message == (
            'Pod "p" is invalid: spec.containers[0].securityContext.privileged: Forbidden: '
            "disallowed by cluster policy"
        )
        template = {"metadata": {"labels": {"a": "b"}}, "spec": pod()["spec"]}
        deployment = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "d", "namespace": "default"},
            "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template},
        }
        with pytest.raises(StatusError, match=r"spec.template.spec.containers\[0\]"):
            await server.client.create(deployment)


async def test_versions_are_switched_off(web_of):
    off = ["batch/v1=false", "autoscaling/v1=false"]
    async with APIServer(runtime_config=off, modules="none") as server, web_of(server) as web:
        assert (await web.ask("GET", "/apis/batch/v1")).code == 404
        assert (await web.ask("GET", "/apis/batch/v1/jobs")).code == 404
        assert (await web.ask("GET", "/apis/autoscaling/v1/horizontalpodautoscalers")).code == 404
        assert (await web.ask("GET", "/apis/autoscaling/v2/horizontalpodautoscalers")).code == 200
        groups = {each["name"]: each for each in (await web.ask("GET", "/apis")).json["groups"]}
        assert "batch" not in groups
        assert [each["version"] for each in groups["autoscaling"]["versions"]] == ["v2"]
    with pytest.raises(ValueError, match="unknown api groups bogus/v1"):
        async with APIServer(runtime_config=["bogus/v1=true"]):
            pass


async def test_requests_without_credentials(tmp_path, web_of):
    (tmp_path / "tokens").write_text("t,alice,1\nm,root,2,system:masters\n")
    (tmp_path / "authentication").write_text(
        "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n"
        "anonymous: {enabled: true, conditions: [{path: /livez}]}\n"
    )
    guarded = {"token_auth_file": tmp_path / "tokens", "authorization_mode": "RBAC"}
    paths = ("/livez", "/readyz", "/api/v1/pods")
    for limit, codes in (
        ({"anonymous_auth": False}, [401, 401, 401]),
        ({"authentication_config": tmp_path / "authentication"}, [200, 401, 401]),
        ({}, [200, 200, 403]),
    ):
        async with APIServer(**guarded, **limit) as server, web_of(server) as web:
            assert [(await web.ask("GET", path)).code for path in paths] == codes
    async with (
        APIServer(token_auth_file=guarded["token_auth_file"], authorization_mode="AlwaysDeny") as s,
        web_of(s) as web,
    ):
        codes = [
            (await web.ask("GET", "/api/v1/pods", Authorization=f"Bearer {token}")).code
            for token in ("t", "m")
        ]
        assert codes == [403, 200]
        review = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
        spec = {"spec": {"namespace": "default"}}
        made = await web.ask("POST", review, spec, Authorization="Bearer m")
        rules = {"resourceRules": [], "nonResourceRules": [], "incomplete": False}
        assert (made.code, made.json["status"]) == (201, rules)
    missing = APIServer(**guarded, authentication_config=tmp_path / "none")
    with pytest.raises(ValueError, match="failed to load authentication configuration from file"):
        async with missing:
            pass


def test_labels_of_metrics_are_allowed_by_flags_or_a_file(tmp_path):
    def allowed(*given):
        return kubeflags.options(parsed(*given))["allow_metric_labels"]

    assert allowed() == {}
    disabled = kubeflags.options(parsed("--disabled-metrics=a,b"))["disabled_metrics"]
    assert disabled == ("a", "b")
    one, two = "--allow-metric-labels=m,a=1,2", '--allow-metric-labels="m,b=x,y","n,c="'
    assert allowed(one, two) == {"m,a": "1,2", "m,b": "x,y", "n,c": ""}
    path = tmp_path / "labels"
    path.write_text('"m,a": 1,2\n"m,b": 200\n"n,c":\n')
    file = f"--allow-metric-labels-manifest={path}"
    assert allowed(file) == {"m,a": "1,2", "m,b": "200", "n,c": ""}
    for given, told in (
        (["--allow-metric-labels=m"], "m must be formatted as key=value"),
        ([one, file], "cannot specify both"),
        ([f"{file}s"], "failed to read allow list manifest: open .*: no such file or directory"),
    ):
        with pytest.raises(FlagError, match=told):
            allowed(*given)
    path.write_text("- m")
    with pytest.raises(FlagError, match="failed to parse allow list manifest"):
        allowed(file)
    with pytest.raises(ValueError, match="'m' is not METRIC,LABEL"):
        APIServer(allow_metric_labels={"m": "a"})


async def test_the_flags_of_an_openid_issuer_are_an_authentication_configuration(tmp_path):
    (tmp_path / "ca.pem").write_text("AUTHORITY")
    given = kubeflags.options(
        parsed(
            "--oidc-issuer-url=https://x",
            "--oidc-client-id=kubernetes",
            f"--oidc-ca-file={tmp_path / 'ca.pem'}",
            "--oidc-groups-claim=roles",
            "--oidc-required-claim=b=2",
            "--oidc-required-claim=a=1",
            "--anonymous-auth=false",
        )
    )
    assert given["oidc_signing_algs"] == ("RS256",)
    config = given["authentication_config"]
    assert config["anonymous"] == {"enabled": False}
    assert config["jwt"] == [
        {
            "issuer": {
                "url": "https://x",
                "audiences": ["kubernetes"],
                "certificateAuthority": "AUTHORITY",
            },
            "claimMappings": {
                "username": {"claim": "sub", "prefix": "https://x#"},
                "groups": {"claim": "roles", "prefix": ""},
            },
            "claimValidationRules": [
                {"claim": "a", "requiredValue": "1"}, {"claim": "b", "requiredValue": "2"},
            ],
        }
    ]  # fmt: skip
    wrong = kubeflags.options(parsed("--oidc-issuer-url=http://x", "--oidc-client-id=x"))
    with pytest.raises(ValueError) as error:
        async with APIServer(authentication_config=wrong["authentication_config"], modules="none"):
            pass
    assert str(error.value) == (
        "invalid authentication configuration: jwt[0].issuer.url: Invalid value: "
        '"http://x": URL scheme must be https'
    )


def test_the_flags_of_a_webhook_are_an_authorization_configuration():
    given = kubeflags.options(
        parsed(
            "--authorization-mode=Node,Webhook",
            "--authorization-webhook-config-file=/hook",
            "--authorization-webhook-cache-authorized-ttl=1m",
        )
    )
    assert given["authorization_config"]["authorizers"] == [
        {"type": "Node", "name": "node"},
        {
            "type": "Webhook",
            "name": "webhook",
            "webhook": {
                "authorizedTTL": "1m",
                "unauthorizedTTL": "30s",
                "timeout": "30s",
                "subjectAccessReviewVersion": "v1beta1",
                "failurePolicy": "NoOpinion",
                "connectionInfo": {"type": "KubeConfigFile", "kubeConfigFile": "/hook"},
            },
        },
    ]


async def test_origins_of_pages_are_regular_expressions(web_of):
    allowed = [r"//([a-z]+\.)?example\.com(:|$)"]
    async with (
        APIServer(cors_allowed_origins=allowed, modules="none") as server,
        web_of(server) as web,
    ):
        for origin, is_allowed in (
            ("https://a.example.com:8443", True),
            ("http://example.com", True),
            ("https://example.com.evil.org", False),
        ):
            answer = await web.ask("GET", "/version", Origin=origin)
            assert (answer.headers.get("Access-Control-Allow-Origin") == origin) is is_allowed
    with pytest.raises(ValueError, match="must match the whole host"):
        async with APIServer(cors_allowed_origins=[".*"]):
            pass


async def test_bootstrap_tokens_are_credentials(tmp_path, web_of):
    (tmp_path / "tokens").write_text("t,alice,1\n")
    clock = FakeClock()
    who = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    async with (
        APIServer(
            enable_bootstrap_token_auth=True, token_auth_file=tmp_path / "tokens", clock=clock
        ) as server,
        web_of(server) as web,
    ):
        token = "abcdef.0123456789abcdef"
        expires = (clock.now() + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "bootstrap-token-abcdef", "namespace": "kube-system"},
            "type": "bootstrap.kubernetes.io/token",
            "stringData": {
                "token-id": "abcdef",
                "token-secret": "0123456789abcdef",
                "usage-bootstrap-authentication": "true",
                "auth-extra-groups": "system:bootstrappers:workers",
                "expiration": expires,
            },
        }
        made = await server.client.create(secret)

        async def asked(credential=token):
            answer = await web.ask("POST", who, {}, Authorization=f"Bearer {credential}")
            return answer.code, answer.json.get("status", {})

        code, found = await asked()
        assert (code, found["userInfo"]["username"]) == (201, "system:bootstrap:abcdef")
        assert found["userInfo"]["groups"] == [
            "system:bootstrappers", "system:bootstrappers:workers", "system:authenticated",
        ]  # fmt: skip
        assert (await asked("abcdef.0123456789abcdee"))[0] == 401
        clock.advance(3601)
        assert (await asked())[0] == 401
        made["stringData"] = {"expiration": "", "auth-extra-groups": "system:masters"}
        made = await server.client.update(made)
        assert (await asked())[0] == 401
        made["stringData"] = {"auth-extra-groups": "", "usage-bootstrap-authentication": "false"}
        await server.client.update(made)
        assert (await asked())[0] == 401


async def test_tokens_are_valid_for_a_limited_time(web_of):
    async with (
        APIServer(
            service_account_max_token_expiration=3600, service_account_jwks_uri="https://x/y"
        ) as server,
        web_of(server) as web,
    ):
        place = "/api/v1/namespaces/default/serviceaccounts"
        assert (await web.ask("POST", place, {"metadata": {"name": "a"}})).code == 201
        answer = await web.ask("POST", f"{place}/a/token", {"spec": {"expirationSeconds": 86400}})
        assert answer.json["spec"]["expirationSeconds"] == 3600
        assert "shortened to 3600 seconds" in answer.warnings[0]
        document = (await web.ask("GET", "/.well-known/openid-configuration")).json
        assert document["jwks_uri"] == "https://x/y"


async def test_the_unspecified_address_is_that_of_both_families(tmp_path, web_of):
    (tmp_path / "tokens").write_text("t,alice,1\n")
    log = tmp_path / "audit.log"
    async with APIServer(host="::", token_auth_file=tmp_path / "tokens", audit_log=log) as server:
        for host in ("127.0.0.1", "[::1]"):
            server_at = type("At", (), {"url": f"http://{host}:{server.port}"})
            async with web_of(server_at) as web:
                answer = await web.ask("GET", "/livez", Authorization="Bearer t")
                assert answer.code == 200
    addresses = [json.loads(line)["sourceIPs"] for line in log.read_text().splitlines()]
    assert addresses == [["127.0.0.1"], ["::1"]]
