"""Certificates for tests."""
import subprocess


def make_certificate(directory, name):
    """Writes NAME.key and NAME.crt, self-signed for 127.0.0.1; returns their paths."""
    key, certificate = directory / f"{name}.key", directory / f"{name}.crt"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "2", "-subj", f"/CN={name}",
                    "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    return key, certificate
