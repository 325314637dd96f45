"""Which certificates the local servers use.

A throw-away authority and one server certificate for this machine, made on first use. Nothing else trusts them.
"""

import ipaddress
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFETIME_DAYS = 30
"""Long enough for a playground left running, short enough that nobody builds on it."""

RENEW_BEFORE_DAYS = 2


class CertificatePaths(NamedTuple):
    """PEM files: what clients trust, and what the server shows."""

    ca: Path
    cert: Path
    key: Path


def ensure_certificates(folder: Path) -> CertificatePaths:
    """Return the certificates in a folder, making them unless they are there and last two days more.

    The server certificate is good for 127.0.0.1, ::1 and localhost. The authority's own key is not kept.
    """
    paths = CertificatePaths(folder / "ca.crt", folder / "server.crt", folder / "server.key")
    if not _are_usable(paths):
        folder.mkdir(parents=True, exist_ok=True)
        _write_certificates(paths, datetime.now(UTC))
    return paths


def _are_usable(paths: CertificatePaths) -> bool:
    if not all(path.is_file() for path in paths):
        return False
    expires_at = x509.load_pem_x509_certificate(paths.cert.read_bytes()).not_valid_after_utc
    return datetime.now(UTC) + timedelta(days=RENEW_BEFORE_DAYS) < expires_at


def _write_certificates(paths: CertificatePaths, now: datetime) -> None:
    ca_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    ca_name, name = _build_name("local authority"), _build_name("localhost")
    ca = _sign(_build_ca(_begin(ca_name, ca_name, ca_key, now), ca_key), ca_key)
    cert = _sign(_build_server(_begin(name, ca_name, key, now), ca_key), ca_key)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    _write(paths.key, private, 0o600)
    _write(paths.cert, cert.public_bytes(serialization.Encoding.PEM), 0o644)
    _write(paths.ca, ca.public_bytes(serialization.Encoding.PEM), 0o644)


def _begin(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, now: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=LIFETIME_DAYS))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _build_ca(builder: x509.CertificateBuilder, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    return (
        builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_build_usage(signs_certificates=True), critical=True)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()), critical=False)
    )


def _build_server(builder: x509.CertificateBuilder, ca_key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    addresses = [x509.IPAddress(ipaddress.ip_address(address)) for address in ("127.0.0.1", "::1")]
    return (
        builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost"), *addresses]), critical=False)
        .add_extension(_build_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), critical=False)
    )


def _build_usage(signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _build_name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _sign(builder: x509.CertificateBuilder, key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    return builder.sign(key, hashes.SHA256())


def _write(path: Path, data: bytes, mode: int) -> None:
    """Write a file as a whole, readable as said from its first byte on."""
    part = path.with_suffix(path.suffix + ".part")
    part.unlink(missing_ok=True)
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(data)
    part.replace(path)
