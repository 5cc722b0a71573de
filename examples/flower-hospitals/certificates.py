"""The keys of a federation: a certificate authority, the server's certificate, and one key pair for each node.

Flower's nodes prove who they are with a key on the curve P-384 in OpenSSH's format; TLS wants certificates in PEM. What is there
already is never overwritten: a node's key may be registered elsewhere.
"""

from __future__ import annotations

import ipaddress
import os
from datetime import datetime, timedelta, timezone
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

AUTHORITY_DAYS = 3650
# Some systems refuse a server's certificate that is valid for more than 825 days.
SERVER_DAYS = 730
# Clocks differ: a certificate made here must not begin in the future elsewhere.
CLOCK_MARGIN = timedelta(days=1)
LOOPBACK = ("127.0.0.1", "localhost")


def make_keys(folder: Path, nodes: list[str], hosts: tuple[str, ...] = ()) -> list[Path]:
    """Makes what is missing in `folder` and returns the files made. `hosts` are further names or addresses of the server."""
    (folder / "nodes").mkdir(parents=True, exist_ok=True, mode=0o700)
    folder.chmod(0o700)
    made: list[Path] = []
    if not (folder / "ca.pem").exists():
        made += _authority(folder)
    if not (folder / "server.pem").exists():
        made += _server(folder, (*LOOPBACK, *hosts))
    for name in nodes:
        if not (folder / "nodes" / name).exists():
            made += _node(folder / "nodes", name)
    return made


def _authority(folder: Path) -> list[Path]:
    key = ec.generate_private_key(ec.SECP384R1())
    name = _name("sgq federation CA")
    usage = _usage(key_cert_sign=True, crl_sign=True)
    builder = _certificate(name, name, key.public_key(), AUTHORITY_DAYS).add_extension(usage, critical=True)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    certificate = builder.sign(key, hashes.SHA384())
    return [
        _write(folder / "ca.key", key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()), 0o600),
        _write(folder / "ca.pem", certificate.public_bytes(Encoding.PEM), 0o644),
    ]


def _server(folder: Path, hosts: tuple[str, ...]) -> list[Path]:
    authority = x509.load_pem_x509_certificate((folder / "ca.pem").read_bytes())
    authority_key = load_pem_private_key((folder / "ca.key").read_bytes(), None)
    assert isinstance(authority_key, ec.EllipticCurvePrivateKey)
    key = ec.generate_private_key(ec.SECP384R1())
    builder = _certificate(_name("sgq SuperLink"), authority.subject, key.public_key(), SERVER_DAYS)
    builder = (
        builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(digital_signature=True), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([_host(host) for host in hosts]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False)
    )
    certificate = builder.sign(authority_key, hashes.SHA384())
    return [
        _write(folder / "server.key", key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()), 0o600),
        _write(folder / "server.pem", certificate.public_bytes(Encoding.PEM), 0o644),
    ]


def _node(folder: Path, name: str) -> list[Path]:
    key = ec.generate_private_key(ec.SECP384R1())
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    return [
        _write(folder / name, key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()), 0o600),
        _write(folder / f"{name}.pub", public + f" {name}\n".encode(), 0o644),
    ]


def _certificate(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, days: int) -> x509.CertificateBuilder:
    now = datetime.now(timezone.utc)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_MARGIN)
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _usage(**true: bool) -> x509.KeyUsage:
    every = (
        "digital_signature content_commitment key_encipherment data_encipherment key_agreement key_cert_sign crl_sign "
        "encipher_only decipher_only"
    ).split()
    return x509.KeyUsage(**{name: true.get(name, False) for name in every})


def _write(path: Path, content: bytes, mode: int) -> Path:
    # Born with its mode, so that a private key is never readable by others, not even for a moment.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    return path
