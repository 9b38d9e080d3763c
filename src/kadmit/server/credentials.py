"""Who we are to webhooks: users of the kubeconfig files that the admission configuration names, as headers and certificates.

Files are read again when they change, so that tokens and certificates can be rotated under a running server. Secrets are never
shown: not in a repr, not in an error.
"""

import base64
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from os import strerror
from pathlib import Path

from kadmit.api import config
from kadmit.api.config import ConfigError, Impersonation, Kubeconfig, User
from kadmit.api.gojson import quoted
from kadmit.pki import files
from kadmit.pki.pem import Pair
from kadmit.server.tls import TlsError, check_pair

MUTATING, VALIDATING = "MutatingAdmissionWebhook", "ValidatingAdmissionWebhook"
TOKEN_PERIOD = 50.0  # seconds for which a token file is taken to be unchanged, as client-go does
_TOKEN_CHARACTERS = frozenset("!#$&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")


class CredentialError(Exception):
    """Credentials that cannot be used; the message follows `could not get REST client: `."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Who to be in one call."""

    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    pair: Pair | None = None


ANONYMOUS = Identity()


class Credentials:
    """The users of one plugin's kubeconfig."""

    def __init__(self, kubeconfig: Kubeconfig | None = None, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._kubeconfig = kubeconfig or Kubeconfig()
        self._clock = clock
        self._tokens: dict[str, tuple[float, str]] = {}
        self._pairs: dict[User, tuple[object, Pair]] = {}

    def identity(self, target: str) -> Identity:
        """Who to be for a host:port. Raises CredentialError."""
        user = self._kubeconfig.user_for(target)
        if user is None:
            return ANONYMOUS
        if user.unsupported:
            raise CredentialError(user.unsupported)
        authorization = self._authorization(user)
        headers = [("Authorization", authorization)] if authorization else []
        if user.impersonation is not None:
            headers += _impersonating(user.impersonation)
        return Identity(tuple(headers), self._pair(user))

    # -------------------------------------------------------- tokens

    def _authorization(self, user: User) -> str:
        token = self._token(user)
        if token and (user.username or user.password):
            raise CredentialError("username/password or bearer token may be set, but not both")
        if token:
            return f"Bearer {token}"
        if user.username or user.password:
            return "Basic " + base64.b64encode(f"{user.username}:{user.password}".encode()).decode()
        return ""

    def _token(self, user: User) -> str:
        """What the file says wins; a token beside it, or the last one read, stands in while it cannot be read."""
        if not user.token_file:
            return user.token
        read_at, known = self._tokens.get(user.token_file, (0.0, ""))
        if known and self._clock() - read_at < TOKEN_PERIOD:
            return known
        try:
            fresh = _token_of(user.token_file)
        except CredentialError:
            if known or user.token:
                return known or user.token
            raise
        self._tokens[user.token_file] = (self._clock(), fresh)
        return fresh

    # -------------------------------------------------------- certificates

    def _pair(self, user: User) -> Pair | None:
        stamp = (files.stamp(user.certificate_file), files.stamp(user.key_file))
        known = self._pairs.get(user)
        if known is not None and known[0] == stamp:
            return known[1]
        pair = Pair(user.certificate_data or _read(user.certificate_file), user.key_data or _read(user.key_file))
        if not pair.certificate or not pair.key:
            return None
        try:
            check_pair(pair)
        except TlsError as e:
            raise CredentialError(str(e)) from None
        self._pairs[user] = (stamp, pair)
        return pair


def _impersonating(who: Impersonation) -> list[tuple[str, str]]:
    headers = [("Impersonate-User", who.user)]
    headers += [("Impersonate-Uid", who.uid)] if who.uid else []
    headers += [("Impersonate-Group", group) for group in who.groups]
    headers += [(f"Impersonate-Extra-{_header_key(key)}", value) for key, values in who.extra for value in values]
    return headers


def _header_key(key: str) -> str:
    """Bytes that a header's name cannot hold, and the percent sign, written as %XX."""
    return "".join(chr(b) if chr(b) in _TOKEN_CHARACTERS else f"%{b:02X}" for b in key.encode())


# ------------------------------------------------------------ files


def load(path: str | Path | None) -> Mapping[str, Credentials]:
    """Credentials of both webhook plugins, out of the file of --admission-control-config-file. Raises ConfigError."""
    if not path:
        return {MUTATING: Credentials(), VALIDATING: Credentials()}
    try:
        text = _read(str(path)).decode("utf-8", "replace")
    except CredentialError as e:
        raise ConfigError(f"unable to read admission control configuration from {quoted(str(path))} [{e}]") from None
    configuration = config.admission_configuration(text)
    folder = Path(path).absolute().parent
    return {name: Credentials(_kubeconfig(configuration.plugin(name), folder)) for name in (MUTATING, VALIDATING)}


def _kubeconfig(plugin: config.Plugin | None, folder: Path) -> Kubeconfig:
    try:
        if plugin is None or (plugin.configuration is None and not plugin.path):
            return Kubeconfig()
        given = plugin.configuration if plugin.configuration is not None else _read(str(folder / plugin.path))
        path = config.webhook_admission(given)
        if not path:
            return Kubeconfig()
        text = _read(path)
    except CredentialError as e:
        raise ConfigError(str(e)) from None
    try:
        return config.kubeconfig(text, str(Path(path).parent))
    except ConfigError as e:
        raise ConfigError(f"error loading config file {quoted(path)}: {e}") from None


def _token_of(path: str) -> str:
    token = _read(path).decode("utf-8", "replace").strip()
    if not token:
        raise CredentialError(f"read empty token from file {quoted(path)}")
    return token


def _read(path: str) -> bytes:
    """Small files on the local disk: not worth a thread."""
    if not path:
        return b""
    try:
        return Path(path).read_bytes()
    except OSError as e:
        raise CredentialError(f"open {path}: {strerror(e.errno or 0).lower()}") from None
