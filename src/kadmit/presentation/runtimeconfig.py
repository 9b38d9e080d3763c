"""Which API versions a server serves: the rules of --runtime-config.

Stable versions are on, beta and alpha ones are off, unless the configuration says otherwise: for all (`api/all`), for a stability
(`api/ga`, `api/beta`, `api/alpha`) or for one (`admissionregistration.k8s.io/v1beta1`). The narrower setting wins.
"""

import re
from collections.abc import Mapping

from msgspec import Struct, field

from kadmit.kinds.catalog import Catalog

_STABILITY = re.compile(r"v[0-9]+(alpha|beta)?[0-9]*\Z")
_TRUE = frozenset(("1", "t", "T", "true", "TRUE", "True"))
_FALSE = frozenset(("0", "f", "F", "false", "FALSE", "False"))
_WIDE = frozenset(("api/all", "api/ga", "api/beta", "api/alpha"))


class RuntimeConfigError(ValueError):
    """The flag cannot be read, or names what is not there."""


class RuntimeConfig(Struct, frozen=True):
    settings: Mapping[str, bool] = field(default_factory=dict)

    def serves(self, group: str, version: str) -> bool:
        named = f"{group}/{version}" if group else version
        stability = _stability(version)
        for key in (named, f"api/{stability}", "api/all"):
            if key in self.settings:
                return self.settings[key]
        return stability == "ga"

    def applied(self, catalog: Catalog) -> Catalog:
        """The catalog of what is served. Custom kinds are served as their definition says."""
        return Catalog(resource for resource in catalog if resource.custom or self.serves(resource.group, resource.version))


def parse(text: str, catalog: Catalog) -> RuntimeConfig:
    """`a/v1=true,api/beta=false`; without a value it is true. Raises RuntimeConfigError."""
    settings = dict(_setting(part) for part in text.split(",") if part.strip())
    groups = {resource.group for resource in catalog}
    unknown = sorted({key.rpartition("/")[0] for key in settings if key not in _WIDE} - groups)
    if unknown:
        raise RuntimeConfigError(f"unknown api groups {','.join(unknown)}")
    return RuntimeConfig(settings)


def _setting(part: str) -> tuple[str, bool]:
    key, equals, value = part.strip().partition("=")
    key = "v1" if key == "api/v1" else key
    if value not in _TRUE | _FALSE and value:
        raise RuntimeConfigError(f"invalid value of runtime-config {key}={value}: must be true or false")
    return key, not equals or not value or value in _TRUE


def _stability(version: str) -> str:
    found = _STABILITY.match(version)
    return (found[1] or "ga") if found else "alpha"
