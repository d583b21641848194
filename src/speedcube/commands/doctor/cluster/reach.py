"""A client of the cluster that ``--on`` names, or why there is none, as exactly as can be known."""

from __future__ import annotations

import json
import os
import socket
import ssl
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from ....engine.clusters.client import client_for, names_file
from ....engine.clusters.rung_names import is_name
from ....errors import ParameterError, SchedulerError
from ....numbers import seconds_text
from ....shown import line, quoted
from ..findings import WARNING, Finding

SECONDS: Final = 2.0  # for each step of a look at an address
_GREETING: Final = 1.0  # Dask's servers speak first, TLS's wait
_SETTINGS: Final = (
    "export DASK_CONFIG with the cluster's settings, or DASK_DISTRIBUTED__COMM__TLS__CA_FILE, "
    "DASK_DISTRIBUTED__COMM__TLS__CLIENT__CERT and DASK_DISTRIBUTED__COMM__TLS__CLIENT__KEY"
)


def cluster_client(on: str) -> Any:
    """A client of the cluster at the address or in the scheduler file ``on``.

    Raises
    ------
    ParameterError
        ``on`` is empty or a rung of this machine.
    SchedulerError
        Nobody answers; who answers is no scheduler; certificates do not match; the file is absent,
        half written or stale.
    """
    if not on.strip() or is_name(on):
        raise ParameterError(
            f"--on {quoted(on)} does not name a cluster: give tcp://host:port, tls://host:port or "
            "the path of a scheduler file; without --on, speedcube doctor looks at this machine"
        )
    try:
        return client_for(on, any_file=True)
    except SchedulerError as err:
        text = _why(on)
        if not text:
            raise
        raise SchedulerError(text) from err


def file_findings(on: str, identity: str) -> Iterator[Finding]:
    """What is odd about the scheduler file ``on``, where the scheduler ``identity`` answered."""
    if not names_file(on):
        return
    owner = os.stat(on).st_uid
    if owner not in (os.getuid(), 0):
        yield Finding(
            WARNING,
            "file-of-another",
            f"the scheduler file {line(on)} belongs to user {owner}, not to you ({os.getuid()}): "
            "who wrote it says where your functions and data are sent. Go on if you know them; "
            "else start a scheduler of your own with dask scheduler --scheduler-file PATH",
        )
    told = _content(on).get("id")
    if told != identity:
        yield Finding(
            WARNING,
            "stale-file",
            f"the scheduler file {line(on)} is of another scheduler ({line(told)}) than the one "
            f"that answers at its address ({line(identity)}): it was started again, or somebody "
            "else has that port now. Start the scheduler with --scheduler-file again: it writes "
            "the file anew",
        )


def _why(on: str) -> str:
    """Why nobody is to be had at ``on``, where more is known than Dask says."""
    if not names_file(on):
        return _why_not(on)
    address = _content(on).get("address")
    if not isinstance(address, str):
        size = os.path.getsize(on) if os.path.isfile(on) else None
        if size is None or size > 10**6:
            return ""
        half = "is empty" if not size else "is half written or something else"
        return (
            f"the scheduler file {quoted(on)} {half}: wait until the scheduler has written it, and "
            "if it does not, start that with dask scheduler --scheduler-file PATH"
        )
    age = seconds_text(max(0.0, time.time() - os.stat(on).st_mtime))
    why = _why_not(address) or f"no Dask scheduler answers at {line(address)}"
    return (
        f"the scheduler file {quoted(on)}, written {age} ago, leads nowhere: {why}. If its "
        "scheduler has ended, remove the file and start another"
    )


def _content(file: str) -> dict[str, Any]:
    try:
        content = json.loads(Path(file).read_bytes()[: 10**6])
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _why_not(address: str) -> str:
    try:
        parts = urlsplit(address)
        scheme, host, port = parts.scheme, parts.hostname, parts.port
    except ValueError:
        scheme, host, port = "", None, None
    if scheme not in ("tcp", "tls") or not host or not port:
        return (
            f"{quoted(address)} is not the address of a scheduler: that is "
            "tcp://host:port or tls://host:port"
        )
    if scheme == "tls":
        problem, context = _own_certificates()
        if context is None:
            return problem
    kind = _kind(host, port)
    there = f"{line(host)}:{port}"
    if kind == "plain" and scheme == "tls":
        return f"the program at {there} does not encrypt: its address is tcp://{there}"
    if kind == "tls" and scheme == "tcp":
        return (
            f"the program at {there} wants TLS: give tls://{there} and the cluster's "
            f"certificates ({_SETTINGS})"
        )
    if kind == "tls":
        return _refused(host, port, there, context)
    if kind == "mute":
        return f"the program at {there} does not answer as a Dask scheduler does"
    return ""


def _kind(host: str, port: int) -> str:
    """Who listens: "plain" speaks first, "tls" shakes hands, "mute" does neither, "" nobody."""
    try:
        with socket.create_connection((host, port), SECONDS) as there:
            there.settimeout(_GREETING)
            try:
                return "plain" if there.recv(1) else "mute"
            except TimeoutError:
                pass
            anyone = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            anyone.check_hostname, anyone.verify_mode = False, ssl.CERT_NONE
            there.settimeout(SECONDS)
            try:
                anyone.wrap_socket(there).close()
            except ssl.SSLError as err:
                return "tls" if "ALERT" in str(err.reason) else "mute"
            except OSError:
                return "mute"
            return "tls"
    except OSError:
        return ""


def _own_certificates() -> tuple[str, Any]:
    """What is wrong with the certificates that Dask's settings name, and TLS with them."""
    from distributed.security import Security

    role = Security().get_tls_config_for_role("client")
    files = {name: role.get(name) for name in ("ca_file", "cert", "key")}
    absent = [name for name, file in files.items() if not file]
    if absent:
        return (
            f"tls:// needs certificates, and Dask has been told no {absent[0]}: {_SETTINGS}",
            None,
        )
    for name, file in files.items():
        if "\n" not in str(file) and not os.access(str(file), os.R_OK):
            return f"the {name} that Dask's settings name, {quoted(file)}, cannot be read", None
    try:
        return "", Security().get_connection_args("client")["ssl_context"]
    except (OSError, ValueError) as err:
        return (
            (
                f"{quoted(files['cert'])} and {quoted(files['key'])} are not a certificate "
                f"and its key: {line(err)}"
            ),
            None,
        )


def _refused(host: str, port: int, there: str, context: ssl.SSLContext) -> str:
    """Which end of a connection does not take the other's certificate."""
    try:
        with (
            socket.create_connection((host, port), SECONDS) as plain,
            context.wrap_socket(plain) as both,
        ):
            both.recv(1)  # who shows a certificate learns here whether it was taken
    except ssl.SSLCertVerificationError as err:
        return (
            f"your CA file does not vouch for the certificate of {there} "
            f"({line(err.verify_message)}): it is another cluster's, or an old one; "
            f"get this cluster's files and {_SETTINGS}"
        )
    except ssl.SSLError as err:
        return (
            f"{there} refuses your certificate ({line(err.reason)}): it is another "
            f"cluster's, or it has expired; get this cluster's files and {_SETTINGS}"
        )
    except OSError:
        pass
    return ""
