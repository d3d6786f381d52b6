"""Small programs that start a folder of assets as controller-runtime's envtest and jenvtest do.

They pass the same flags in the same form, write the same files, and wait for the same responses.
They use the same types of keys: P-256 for envtest, RSA for jenvtest, in certificates without
extensions except names.
"""

import asyncio
import datetime as dt
import ipaddress
import os
import signal
import ssl
from pathlib import Path

import aiohttp
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from patience import within
from ports import free_port

PEM = serialization.Encoding.PEM
LOOPBACK = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))


def name_of(common, organization=""):
    oid = x509.oid.NameOID
    parts = [x509.NameAttribute(oid.COMMON_NAME, common)]
    if organization:
        parts.append(x509.NameAttribute(oid.ORGANIZATION_NAME, organization))
    return x509.Name(parts)


def private(key):
    return key.private_bytes(
        PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )


def signed(subject, key, *, issuer=None, by=None, names=(), extensions=()):
    """Create a certificate in PEM; without an issuer it is self-signed."""
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer or subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(minutes=5))
        .not_valid_after(now + dt.timedelta(days=7))
    )
    if names:
        made = made.add_extension(x509.SubjectAlternativeName(names), critical=False)
    for extension in extensions:
        made = made.add_extension(extension, critical=True)
    return made.sign(by or key, hashes.SHA256()).public_bytes(PEM)


class TinyCA:
    """The certificate authority of envtest (pkg/internal/testing/certs/tinyca.go)."""

    def __init__(self):
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = name_of("envtest-environment", "envtest")
        constraints = x509.BasicConstraints(ca=True, path_length=None)
        self.certificate = signed(self.name, self.key, extensions=[constraints])

    def issue(self, subject, names=()):
        key = ec.generate_private_key(ec.SECP256R1())
        made = signed(subject, key, issuer=self.name, by=self.key, names=names)
        return made, private(key)


class Starter:
    """The common part of both starters: two processes, and requests to them."""

    def __init__(self, assets: Path, folder: Path) -> None:
        self.assets = assets
        self.folder = folder
        self.processes = {}

    async def run(self, program, *arguments):
        """Run a program; return its exit code and output."""
        process = await asyncio.create_subprocess_exec(
            self.assets / program,
            *map(str, arguments),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        async with within():
            text, _ = await process.communicate()
        return process.returncode, text.decode()

    async def begin(self, program, *arguments):
        """Start a program with its output in a file."""
        with (self.folder / f"{Path(program).name}.log").open("ab") as log:
            self.processes[program] = await asyncio.create_subprocess_exec(
                self.assets / program, *map(str, arguments), stdout=log, stderr=log
            )

    async def until_ok(self, program, url, interval):
        """Repeat a request until it returns 200, as both do. Fails when the program ends."""
        blind = ssl.create_default_context()
        blind.check_hostname, blind.verify_mode = False, ssl.CERT_NONE
        async with within(), aiohttp.ClientSession() as http:
            while True:
                code = self.processes[program].returncode
                assert code is None, f"{program} ended with {code}: {self.log(program)}"
                try:
                    async with http.get(url, ssl=blind) as answer:
                        if answer.status == 200:
                            return await answer.text()
                except aiohttp.ClientError:
                    pass
                await asyncio.sleep(interval)  # neither starter gets a notification

    async def end(self, program, number=signal.SIGTERM):
        """Send a signal to a program, and return its exit code."""
        process = self.processes.pop(program)
        process.send_signal(number)
        async with within():
            return await process.wait()

    async def kill(self):
        """Kill all processes."""
        for program in list(self.processes):
            if self.processes[program].returncode is None:
                await self.end(program, signal.SIGKILL)

    def log(self, program):
        return (self.folder / f"{Path(program).name}.log").read_text()


class Envtest(Starter):
    """controller-runtime's pkg/internal/testing/controlplane, version 0.24."""

    def __init__(self, assets, folder):
        super().__init__(assets, folder)
        self.certificates = folder / "certs"
        self.data = folder / "data"
        self.data.mkdir()
        self.certificates.mkdir()

    async def start_etcd(self):
        code, text = await self.run("etcd", "--help")
        assert code == 0
        self.etcd = f"http://127.0.0.1:{free_port()}"
        flags = {
            "advertise-client-urls": self.etcd,
            "data-dir": self.data,
            "listen-client-urls": self.etcd,
            "listen-peer-urls": f"http://127.0.0.1:{free_port()}",
        }
        if "--unsafe-no-fsync" in text:
            flags["unsafe-no-fsync"] = "true"
        await self.begin("etcd", *(f"--{name}={value}" for name, value in flags.items()))
        return await self.until_ok("etcd", f"{self.etcd}/health", 0.1)

    def write_certificates(self):
        """Write the server's certificate, the signing key of tokens and the CA of clients."""
        put = self.certificates.joinpath
        if put("apiserver.crt").exists():
            return
        self.authority = TinyCA()
        localhost = x509.DNSName("localhost")
        chain, key = self.authority.issue(name_of("apiserver"), [localhost, LOOPBACK])
        put("apiserver.crt").write_bytes(chain)
        put("apiserver.key").write_bytes(key)
        signer = TinyCA()
        put("sa-signer.crt").write_bytes(signer.certificate)
        put("sa-signer.key").write_bytes(private(signer.key))
        self.clients = TinyCA()
        put("client-cert-auth-ca.crt").write_bytes(self.clients.certificate)

    async def start_api(self, **changes):
        self.write_certificates()
        code, text = await self.run("kube-apiserver", "--help")
        assert code == 0
        assert "--insecure-port" not in text
        self.port = free_port()
        self.url = f"https://127.0.0.1:{self.port}"
        folder = self.certificates
        flags = {
            "allow-privileged": "true",
            "authorization-mode": "RBAC",
            "bind-address": "127.0.0.1",
            "cert-dir": folder,
            "client-ca-file": folder / "client-cert-auth-ca.crt",
            "disable-admission-plugins": "ServiceAccount",
            "etcd-servers": self.etcd,
            "secure-port": self.port,
            "service-account-issuer": f"{self.url}/",
            "service-account-key-file": folder / "sa-signer.crt",
            "service-account-signing-key-file": folder / "sa-signer.key",
            "service-cluster-ip-range": "10.0.0.0/24",
            **changes,
        }
        arguments = (f"--{name}={value}" for name, value in sorted(flags.items()))
        await self.begin("kube-apiserver", *arguments)
        return await self.until_ok("kube-apiserver", f"{self.url}/healthz", 0.1)

    def user(self, name="default", group="system:masters"):
        """Return a session as a user that envtest has provisioned."""
        certificate, key = self.clients.issue(name_of(name, group))
        return session(self.url, self.authority.certificate, certificate, key, self.folder)


class Jenvtest(Starter):
    """jenvtest 0.9: flags and values separated by a space, self-signed certificates."""

    def __init__(self, assets, folder):
        super().__init__(assets, folder)
        self.home = folder / "jenvtest"
        self.home.mkdir()
        names = [LOOPBACK, x509.DNSName("kubernetes"), x509.DNSName("kubernetes.default.svc")]
        self._generate("apiserver", name_of("example.org"), names)
        self._generate("client", name_of("jenvtest", "system:masters"))

    def _generate(self, stem, subject, names=()):
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        (self.home / f"{stem}.key").write_bytes(private(key))
        (self.home / f"{stem}.crt").write_bytes(signed(subject, key, names=names))

    async def start_etcd(self):
        data, wal = self.folder / "etcddata", self.folder / "etcdwal"
        data.mkdir()
        wal.mkdir()
        self.etcd, peer = free_port(), free_port()
        listen = f"http://0.0.0.0:{self.etcd}"
        await self.begin(
            "etcd",
            *("-data-dir", data, "-wal-dir", wal),
            *("--listen-client-urls", listen, "--advertise-client-urls", listen),
            *("--initial-cluster", f"default=http://localhost:{peer}"),
            *("--initial-advertise-peer-urls", f"http://localhost:{peer}"),
            *("--listen-peer-urls", f"http://localhost:{peer}"),
        )
        return await self.until_ok("etcd", f"http://127.0.0.1:{self.etcd}/health", 0.2)

    async def start_api(self):
        self.port = free_port()
        key = self.home / "apiserver.key"
        await self.begin(
            "kube-apiserver",
            *("--cert-dir", self.home, "--secure-port", self.port),
            *("--etcd-servers", f"http://0.0.0.0:{self.etcd}", "--authorization-mode", "RBAC"),
            *("--service-account-issuer", "https://localhost"),
            *("--service-account-signing-key-file", key),
            *("--service-account-signing-key-file", key),
            *("--service-account-key-file", key),
            *("--service-account-issuer", self.home / "apiserver.crt"),
            *("--disable-admission-plugins", "ServiceAccount"),
            *("--client-ca-file", self.home / "client.crt"),
            *("--service-cluster-ip-range", "10.0.0.0/24"),
            "--allow-privileged",
        )
        return await self.until_ok("kube-apiserver", f"https://127.0.0.1:{self.port}/readyz", 0.2)

    async def kubectl(self, *arguments):
        return await self.run(
            "kubectl",
            f"--client-certificate={self.home / 'client.crt'}",
            f"--client-key={self.home / 'client.key'}",
            f"--certificate-authority={self.home / 'apiserver.crt'}",
            f"--server=https://127.0.0.1:{self.port}",
            *arguments,
        )


def cpu_seconds(process):
    """Return the seconds of processor time that a process has used (Linux)."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def session(url, authority, certificate, key, folder):
    """Return a client with its own certificate, which trusts only this authority."""
    context = ssl.create_default_context(cadata=authority.decode())
    stem = folder / f"user-{os.urandom(4).hex()}"
    stem.with_suffix(".pem").write_bytes(certificate + key)
    context.load_cert_chain(stem.with_suffix(".pem"))
    connector = aiohttp.TCPConnector(ssl=context)
    return aiohttp.ClientSession(url, connector=connector)
