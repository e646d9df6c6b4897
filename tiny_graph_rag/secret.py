"""Keys and passwords: values that never show themselves, and their removal from text that others wrote."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

HIDDEN = "***"
SHORTEST_HIDDEN = 6  # shorter ones are placeholders ("none", "x"); blanking them would blank ordinary words
SECRET_PARAMETERS = ("key", "token", "secret", "password", "signature", "sig", "code")


@dataclass(frozen=True, slots=True, repr=False)
class Secret:
    """A value whose repr, str and format are `***`; `reveal()` where it is used, nowhere else."""

    value: str = ""

    def reveal(self) -> str:
        return self.value

    def __bool__(self) -> bool:
        return bool(self.value)

    def __repr__(self) -> str:
        return HIDDEN if self.value else ""

    __str__ = __repr__


def is_secret_parameter(name: str) -> bool:
    """Whether a URL's query parameter of this name is likely to hold a key."""
    lowered = name.lower()
    return any(
        lowered == parameter
        or lowered.endswith(("-" + parameter, "_" + parameter))
        or lowered == "api" + parameter
        for parameter in SECRET_PARAMETERS
    )


def url_secrets(url: str) -> tuple[Secret, ...]:
    """User name, password and key parameters of a URL."""
    parts = urlsplit(url)
    parameters = [value for name, value in parse_qsl(parts.query) if is_secret_parameter(name)]
    return tuple(Secret(item) for item in (parts.username, parts.password, *parameters) if item)


def is_loopback(url: str) -> bool:
    """Whether a URL's host is this machine itself."""
    host = (urlsplit(url).hostname or "").removesuffix(".")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def is_private(url: str) -> bool:
    """Whether nobody on the way reads along: https, this machine itself, or no URL (OpenAI's own)."""
    return not url or urlsplit(url).scheme == "https" or is_loopback(url)


def safe_url(url: str) -> str:
    """The same URL without user name, password and key parameters."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    shown = [(name, HIDDEN if is_secret_parameter(name) else value) for name, value in parse_qsl(parts.query)]
    return urlunsplit((parts.scheme, host, parts.path, urlencode(shown, safe="*"), ""))


def scrubbed(text: str, secrets: Iterable[Secret]) -> str:
    """`text` with every secret in it replaced; for messages that a service or a library wrote."""
    for hidden in sorted(secrets, key=lambda secret: -len(secret.value)):
        if len(hidden.value) >= SHORTEST_HIDDEN:
            text = text.replace(hidden.value, HIDDEN)
    return text
