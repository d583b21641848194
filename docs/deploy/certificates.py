"""Make a certificate for one cluster, and the Dask settings that use it.

    python certificates.py FOLDER [--at PATH]

FOLDER must be one that all hosts of the cluster see under this name, or be copied to each of them.
It is made, or has to be empty and yours. Then say, wherever a process of the cluster starts:

    export DASK_CONFIG=FOLDER/dask.yaml

Where the files will lie elsewhere for who uses them, as in a container, PATH says where.
Every process that shows this certificate may run code on every other one: keep the folder to
yourself (it has mode 0700), and make a new one for each cluster. The certificate lasts 30 days.
"""

import argparse
import datetime
from pathlib import Path

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

DAYS = 30


def made() -> tuple[bytes, bytes]:
    """A certificate that only itself vouches for, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a cluster of speedcube")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))  # clocks of hosts differ
        .not_valid_after(now + datetime.timedelta(days=DAYS))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return certificate.public_bytes(serialization.Encoding.PEM), private


def settings_text(settings: dict[str, object]) -> bytes:
    """Dask's settings as a file has them, each thing said where it stands."""
    yaml.SafeDumper.ignore_aliases = lambda *_: True
    return yaml.safe_dump(settings).encode()


def write(folder: Path, at: Path) -> None:
    """Write ``cert.pem``, ``key.pem`` and ``dask.yaml``, for who finds them in ``at``."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise SystemExit(f"{folder} is not empty: name a folder that is new")
    folder.chmod(0o700)
    certificate, key = made()
    pair = {"cert": str(at / "cert.pem"), "key": str(at / "key.pem")}
    roles = {role: pair for role in ("scheduler", "worker", "client")}
    tls = {"ca-file": pair["cert"], **roles}
    comm: dict[str, object] = {"default-scheme": "tls", "require-encryption": True, "tls": tls}
    # A network that was silent for 20 seconds is tried again after 40 at the latest, since TCP
    # waits twice as long before each try; Dask's own 30 would end the connection before.
    comm["timeouts"] = {"tcp": "60s"}
    quiet = {"http": {"routes": []}}  # Dask's pages know no certificates: there are none
    settings = {"distributed": {"comm": comm, "scheduler": quiet, "worker": quiet}}
    for name, content in (
        ("cert.pem", certificate),
        ("key.pem", key),
        ("dask.yaml", settings_text(settings)),
    ):
        path = folder / name
        path.touch(mode=0o600, exist_ok=False)
        path.write_bytes(content)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--at", type=Path)
    asked = parser.parse_args()
    folder = asked.folder.absolute()
    write(folder, asked.at or folder)
