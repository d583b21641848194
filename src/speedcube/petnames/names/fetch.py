"""A file from the web, kept in the cache and checked against its SHA-256 when it is used again.

    <url's key>.json      {"url": ..., "sha256": ...}
    <sha256>.csv          the bytes

below ``data`` of the directory that the kernel cache is in, and read with the same care: what
others may have written there is not used. To fetch anew, delete them.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import json
import re
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Final

from ... import strict_json
from ...__about__ import __version__
from ...errors import DataFileError
from ...kernel.cache import default_directory
from ...kernel.own_directory import OwnDirectory
from ...shown import line, quoted

MAX_BYTES: Final = 64 << 20  # the portal's file has 4 MB
ANSWER: Final = 20.0  # seconds without a byte
WHOLE: Final = 120.0  # seconds for all bytes
_BLOCK: Final = 1 << 16
_MOST_INDEX: Final = 1 << 20  # bytes; URLs may be long
_SHA256: Final = re.compile("[0-9a-f]{64}")


def directory() -> Path:
    """Where fetched files are kept."""
    return default_directory() / "data"


def cached(url: str) -> bytes | None:
    """What was kept of ``url``, or None where that is nothing, damaged or another user's."""
    try:
        files = OwnDirectory(directory())
        index = strict_json.parse(files.read(_index(url), _MOST_INDEX) or b"")
        if not isinstance(index, dict) or not _SHA256.fullmatch(str(index.get("sha256"))):
            return None
        content = files.read(f"{index['sha256']}.csv", MAX_BYTES)
    except (OSError, ValueError):
        return None
    whole = content is not None and hashlib.sha256(content).hexdigest() == index["sha256"]
    return content if whole and index.get("url") == url else None


def keep(url: str, content: bytes) -> None:
    """Keep ``content`` of ``url`` for the next time; failing to is not an error."""
    sha256 = hashlib.sha256(content).hexdigest()
    with contextlib.suppress(OSError):
        files = OwnDirectory(directory())
        files.write(f"{sha256}.csv", content)
        files.write(_index(url), json.dumps({"url": url, "sha256": sha256}).encode())


def _index(url: str) -> str:
    return f"{hashlib.sha256(url.encode('utf-8', 'replace')).hexdigest()[:40]}.json"


def download(url: str) -> bytes:
    """The bytes at the http or https ``url``; `DataFileError` where there are none, or too many."""
    if not url.lower().startswith(("http://", "https://")):
        raise DataFileError(f"{quoted(url)} cannot be fetched: only http and https URLs can")
    try:
        asked = urllib.request.Request(url, headers={"User-Agent": f"speedcube/{__version__}"})
        with urllib.request.urlopen(asked, timeout=ANSWER) as answer:
            return _body(answer)
    except urllib.error.HTTPError as err:
        reason = f"the server says {err.code} {err.reason}"
    except urllib.error.URLError as err:
        reason = getattr(err.reason, "strerror", None) or str(err.reason)
    except (OSError, http.client.HTTPException, ValueError) as err:
        reason = str(err) or type(err).__name__
    raise DataFileError(f"{quoted(url)} cannot be fetched: {line(reason)}")


def _body(answer: http.client.HTTPResponse) -> bytes:
    """All bytes of ``answer``, within the limits of size and time."""
    until = time.monotonic() + WHOLE
    content = bytearray()
    while block := answer.read(_BLOCK):
        content += block
        if len(content) > MAX_BYTES:
            raise ValueError(f"it has more than {MAX_BYTES:,} bytes")
        if time.monotonic() > until:
            raise TimeoutError(f"it is not all here after {WHOLE:.0f} s")
    promised = answer.headers.get("Content-Length")
    if promised is not None and len(content) != int(promised):
        raise ValueError(f"it ends after {len(content)} of {promised} bytes")
    return bytes(content)
