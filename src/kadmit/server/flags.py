"""All flags of `kadmit serve`, as one record. They have kube-apiserver's names and meanings where it has such a flag.

A field here is a flag: its name with hyphens, its default, how it is read, and what it is for. The command line, the file of
--config and the documentation are made from this record. What cannot be read is told with the name of the flag, all at once.
"""

# ruff: noqa: RUF009 - _flag makes fields

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from kadmit.api import yaml
from kadmit.api.gojson import quoted
from kadmit.api.yaml import YamlError
from kadmit.server import flagvalues as values
from kadmit.server import plugins, startup
from kadmit.server.flagvalues import Reader, ServiceRouting, Texts
from kadmit.server.foreignflags import REFUSED, WITHOUT_EFFECT
from kadmit.server.startup import StartupError

SQLITE, MEMORY, ETCD = "sqlite", "memory", "etcd"
RBAC, ALWAYS_ALLOW, NODE = "RBAC", "AlwaysAllow", "Node"
MAX_WORKERS = 256

_MODES = (ALWAYS_ALLOW, NODE, RBAC)
_FOREIGN_MODES = ("ABAC", "AlwaysDeny", "Webhook")
_GATES = ("MutatingAdmissionPolicy", "AllAlpha", "AllBeta")


@dataclass(frozen=True, slots=True)
class Flag:
    """What a field of Flags is on the command line. `shown` is its default in words, where the value itself says little."""

    read: Reader[Any]
    help: str
    metavar: str
    shown: str = ""


def _flag(default: Any, read: Reader[Any], metavar: str, help_: str, shown: str = "") -> Any:
    about = {"flag": Flag(read, help_, metavar, shown)}
    return field(default_factory=default, metadata=about) if callable(default) else field(default=default, metadata=about)


@dataclass(frozen=True, slots=True, kw_only=True)
class Flags:
    # Serving
    bind_address: str = _flag("127.0.0.1", values.address, "IP", "Address to listen on; 0.0.0.0 and :: are all.")
    secure_port: int = _flag(6443, values.number(0, 65535), "PORT", "Port to serve HTTPS on; 0 takes any free one.")
    advertise_address: str = _flag(
        "", values.optional_address, "IP", "Address that clients use: named in certificate and kubeconfig."
    )
    external_hostname: str = _flag("", values.text, "HOST", "Host name that clients use: named in certificate and kubeconfig.")
    workers: int = _flag(1, values.number(1, MAX_WORKERS), "N", "Processes that share the port.")
    request_timeout: float = _flag(60.0, values.seconds, "DURATION", "Time that a request may take.", "1m")
    min_request_timeout: int = _flag(1800, values.number(0), "SECONDS", "Least time that a watch stays open.")
    max_request_bytes: int = _flag(3145728, values.number(1024, 2**30), "BYTES", "Largest body of a request.")
    shutdown_delay_duration: float = _flag(
        0.0, values.seconds, "DURATION", "Time between a signal to end and the end of listening, for load balancers.", "0s"
    )
    # Certificates
    cert_dir: Path | None = _flag(None, values.path, "DIR", "Folder of the server's own certificates.", "DATA-DIR/pki")
    tls_cert_file: Path | None = _flag(None, values.path, "FILE", "Certificate to serve with, instead of one of our own.")
    tls_private_key_file: Path | None = _flag(None, values.path, "FILE", "Key of --tls-cert-file.")
    tls_min_version: str = _flag(
        "VersionTLS12", values.one_of("VersionTLS12", "VersionTLS13"), "VERSION", "Oldest TLS: VersionTLS12 or VersionTLS13."
    )
    kubeconfig_out: Path | None = _flag(
        None, values.path, "FILE", "Where the administrator's kubeconfig is written.", "DATA-DIR/admin.kubeconfig"
    )
    # Who may do what
    client_ca_file: Path | None = _flag(
        None, values.path, "FILE", "Authority of client certificates, beside our own: CN is the user, O the groups."
    )
    token_auth_file: Path | None = _flag(None, values.path, "FILE", 'Static tokens: token,user,uid,"group1,group2" a line.')
    anonymous_auth: bool = _flag(False, values.boolean, "BOOL", "Take requests without credentials as system:anonymous.")
    authorization_mode: tuple[str, ...] = _flag((RBAC,), values.items, "MODES", "RBAC, AlwaysAllow, or both by commas.", "RBAC")
    # Admission and API
    admission_control_config_file: Path | None = _flag(
        None, values.path, "FILE", "AdmissionConfiguration: how to authenticate to webhooks."
    )
    allow_privileged: bool = _flag(False, values.boolean, "BOOL", "Let containers be privileged.")
    enable_admission_plugins: tuple[str, ...] = _flag((), values.items, "NAMES", "Admission plugins to turn on.")
    disable_admission_plugins: tuple[str, ...] = _flag((), values.items, "NAMES", "Admission plugins to turn off.")
    runtime_config: str = _flag("", values.joined, "PAIRS", "API versions to turn on or off: GROUP/VERSION=true,api/beta=false.")
    feature_gates: Mapping[str, bool] = _flag(dict, values.gates, "PAIRS", "Features to turn on or off: Name=true,Other=false.")
    service_cluster_ip_range: str = _flag("10.0.0.0/24", values.ranges, "CIDR", "Network of cluster IPs; two for two families.")
    service_resolver: ServiceRouting = _flag(
        ServiceRouting, values.services, "HOW",
        "Where services of webhooks are: cluster-ip, endpoints, none, and NAMESPACE/NAME=HOST:PORT for single ones.",
        "cluster-ip",
    )  # fmt: skip
    enable_aggregator_routing: bool = _flag(False, values.boolean, "BOOL", "The same as --service-resolver=endpoints.")
    # Audit
    audit_policy_file: Path | None = _flag(None, values.path, "FILE", "audit.k8s.io/v1 Policy: what is recorded.")
    audit_log_path: str = _flag("", values.text, "FILE", "Where audit events are written; - is standard output.")
    audit_log_mode: str = _flag(
        "blocking", values.one_of("batch", "blocking", "blocking-strict"), "MODE",
        "blocking-strict refuses requests that cannot be recorded; batch is the same as blocking.",
    )  # fmt: skip
    audit_log_maxage: int = _flag(0, values.not_negative, "DAYS", "Days to keep old audit logs; 0 is for ever.")
    audit_log_maxbackup: int = _flag(0, values.not_negative, "N", "Old audit logs to keep; 0 is all.")
    audit_log_maxsize: int = _flag(0, values.not_negative, "MEGABYTES", "Size at which an audit log is put aside; 0 is never.")
    audit_log_format: str = _flag("json", values.one_of("json"), "FORMAT", "Form of audit events: json.")
    audit_log_version: str = _flag("audit.k8s.io/v1", values.one_of("audit.k8s.io/v1"), "VERSION", "API of audit events.")
    # Storage
    storage: str = _flag(
        "", values.one_of(SQLITE, MEMORY, ETCD), "ENGINE", "sqlite, memory or etcd.", "sqlite; with --etcd-servers etcd"
    )
    data_dir: Path = _flag(
        lambda: Path("~/.local/share/kadmit").expanduser(), values.folder, "DIR",
        "Folder of database, certificates and kubeconfig.", "~/.local/share/kadmit",
    )  # fmt: skip
    etcd_servers: tuple[str, ...] = _flag((), values.servers, "URLS", "etcd servers, by commas.")
    etcd_prefix: str = _flag("/registry", values.text, "PREFIX", "Prefix of all keys in etcd.")
    etcd_cafile: Path | None = _flag(None, values.path, "FILE", "Authority of etcd's certificates.")
    etcd_certfile: Path | None = _flag(None, values.path, "FILE", "Certificate to show to etcd.")
    etcd_keyfile: Path | None = _flag(None, values.path, "FILE", "Key of --etcd-certfile.")
    # Log
    logging_format: str = _flag("text", values.one_of("text", "json"), "FORMAT", "Form of the log: text or json.")
    v: int = _flag(0, values.number(0, 10), "N", "How much to log; from 4 on, detail.")
    config: Path | None = _flag(None, values.path, "FILE", "YAML with flags by name; the command line goes first.")

    warnings: tuple[str, ...] = ()

    @property
    def certificates(self) -> Path:
        return self.cert_dir or self.data_dir / "pki"

    @property
    def kubeconfig(self) -> Path:
        return self.kubeconfig_out or self.data_dir / "admin.kubeconfig"

    @property
    def admission_plugins(self) -> frozenset[str]:
        return plugins.enabled(self.enable_admission_plugins, self.disable_admission_plugins)


FLAGS: Mapping[str, Flag] = {f.name.replace("_", "-"): f.metadata["flag"] for f in fields(Flags) if "flag" in f.metadata}


class FlagsError(Exception):
    """Flags that cannot be used: a line for each."""

    def __init__(self, errors: Sequence[str]) -> None:
        super().__init__("\n".join(errors))
        self.errors = tuple(errors)


# ---------------------------------------------------------------- reading


def parse(given: Mapping[str, Texts]) -> Flags:
    """Flags by name, each with all texts it was given. Raises FlagsError."""
    errors: list[str] = []
    texts = {**_of_config(given.get("config", ("",))[-1], errors), **given}
    warnings = [*_foreign(texts, errors)]
    read = dict(_read(texts, errors))
    if errors:
        raise FlagsError(errors)
    flags = _settled(Flags(**read), texts)
    errors += _contradictions(flags)
    if errors:
        raise FlagsError(errors)
    return replace(flags, warnings=(*warnings, *_warnings(flags, texts)))


def _read(texts: Mapping[str, Texts], errors: list[str]) -> Iterator[tuple[str, Any]]:
    for name, flag in FLAGS.items():
        if name in texts:
            try:
                yield name.replace("-", "_"), flag.read(texts[name])
            except ValueError as error:
                errors.append(f'invalid argument {quoted(",".join(texts[name]))} for "--{name}" flag: {error}')


def _foreign(texts: Mapping[str, Texts], errors: list[str]) -> Iterator[str]:
    for name in texts:
        if name in REFUSED:
            errors.append(f"--{name} is not supported: {REFUSED[name]}")
        elif name in WITHOUT_EFFECT:
            yield f"--{name} has no effect: {WITHOUT_EFFECT[name]}"
        elif name not in FLAGS:
            errors.append(f"unknown flag: --{name}")


def _of_config(path: str, errors: list[str]) -> dict[str, Texts]:
    """The flags of the file, as if they had been given on the command line."""
    if not path:
        return {}
    try:
        document = yaml.load(startup.text_of("config", Path(path).expanduser()))
    except StartupError as error:
        errors.append(str(error))
        return {}
    except YamlError as error:
        errors.append(f"--config: {path!r} is not YAML: {error}")
        return {}
    if document.repeated:
        errors.append(f"--config: {path!r} {document.repeated[0]}")
    if not isinstance(document.value, dict | None):
        errors.append(f"--config: {path!r} must hold flags by name")
        return {}
    return dict(_config_texts(document.value or {}, errors))


def _config_texts(document: Mapping[str, Any], errors: list[str]) -> Iterator[tuple[str, Texts]]:
    for name, value in document.items():
        if name == "config":
            errors.append("--config: a file cannot name another")
            continue
        try:
            found = tuple(_texts(value))
        except ValueError:
            errors.append(f"--config: the value of {name!r} must be a text, a number, true or false, or a list or map of these")
            continue
        if value is not None:
            yield name, found or ("",)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        yield from (_scalar(item) for item in value)
    elif isinstance(value, dict):
        yield from (f"{key}={_scalar(item)}" for key, item in value.items())
    elif value is not None:
        yield _scalar(value)


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int):
        return str(value)
    raise ValueError


# ---------------------------------------------------------------- checking


def _settled(flags: Flags, given: Mapping[str, Texts]) -> Flags:
    """What follows from other flags. NB: nobody is anonymous where everybody may do everything, as in Kubernetes."""
    storage = flags.storage or (ETCD if flags.etcd_servers else SQLITE)
    routing = flags.service_resolver
    if flags.enable_aggregator_routing and "service-resolver" not in given:
        routing = ServiceRouting(values.ENDPOINTS)
    anonymous = flags.anonymous_auth and ALWAYS_ALLOW not in flags.authorization_mode
    return replace(flags, storage=storage, service_resolver=routing, anonymous_auth=anonymous)


def _contradictions(flags: Flags) -> Iterator[str]:
    yield from _mode_errors(flags.authorization_mode)
    yield from _plugin_errors(flags)
    yield from _apart("tls-cert-file", flags.tls_cert_file, "tls-private-key-file", flags.tls_private_key_file)
    yield from _apart("etcd-certfile", flags.etcd_certfile, "etcd-keyfile", flags.etcd_keyfile)
    if flags.storage == ETCD and not flags.etcd_servers:
        yield "--storage=etcd needs --etcd-servers"
    if flags.storage != ETCD and flags.etcd_servers:
        yield f"--etcd-servers and --storage={flags.storage} exclude each other"
    if flags.storage == MEMORY and flags.workers > 1:
        yield "--workers: with --storage=memory there can be one only"


def _apart(one: str, first: Path | None, other: str, second: Path | None) -> Iterator[str]:
    if (first is None) != (second is None):
        yield f"--{one} and --{other} must be given together"


def _mode_errors(modes: Sequence[str]) -> Iterator[str]:
    if not modes:
        yield "at least one authorization-mode must be passed"
    for mode in dict.fromkeys(modes):
        if mode in _FOREIGN_MODES:
            yield f"authorization-mode {quoted(mode)} is not supported; use {RBAC} or {ALWAYS_ALLOW}"
        elif mode not in _MODES:
            yield f"authorization-mode {quoted(mode)} is not a valid mode"
    if len(set(modes)) != len(modes):
        yield f"authorization-mode {_go_list(modes)} has mode specified more than once"


def _plugin_errors(flags: Flags) -> Iterator[str]:
    more, less = flags.enable_admission_plugins, flags.disable_admission_plugins
    for name, chosen in (("enable", more), ("disable", less)):
        yield from (f"{name}-admission-plugins plugin {quoted(p)} is unknown" for p in chosen if p not in plugins.KNOWN)
    both = [plugin for plugin in more if plugin in less]
    if both:
        yield f"{_go_list(both)} in enable-admission-plugins and disable-admission-plugins overlapped"


def _go_list(texts: Sequence[str]) -> str:
    return f"[{' '.join(quoted(text) for text in texts)}]"


def _warnings(flags: Flags, given: Mapping[str, Texts]) -> Iterator[str]:
    if ALWAYS_ALLOW in flags.authorization_mode and "anonymous-auth" in given and values.boolean(given["anonymous-auth"]):
        yield f"--anonymous-auth is off: it is not allowed with --authorization-mode={ALWAYS_ALLOW}"
    if NODE in flags.authorization_mode:
        yield "--authorization-mode: Node has no effect: there are no nodes here"
    for plugin in flags.enable_admission_plugins:
        if plugin not in plugins.IMPLEMENTED:
            yield f"--enable-admission-plugins: {plugin} has no effect here"
    for gate in flags.feature_gates:
        if gate not in _GATES:
            yield f"--feature-gates: {gate} has no effect here"
    if flags.audit_log_path and flags.audit_policy_file is None:
        yield "--audit-log-path has no effect without --audit-policy-file"
    if flags.audit_policy_file is not None and not flags.audit_log_path:
        yield "--audit-policy-file has no effect without --audit-log-path"
