"""Certificates for tests, and connections to servers that have one."""
import socket
import ssl
import subprocess


def make_certificate(directory, name, names="IP:127.0.0.1"):
    """Writes NAME.key and NAME.crt, which is its own authority, for `names` (subjectAltName); returns their paths."""
    key, certificate = directory / f"{name}.key", directory / f"{name}.crt"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "2", "-subj", f"/CN={name}",
                    "-addext", f"subjectAltName={names}"], check=True, capture_output=True)
    return key, certificate


def any_certificate():
    """A context that takes whatever certificate the server has."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def encrypted(host, port):
    return any_certificate().wrap_socket(socket.create_connection((host, port), timeout=30))


def served_certificate(host, port):
    """The certificate of that server, as PEM."""
    with encrypted(host, port) as s:
        return ssl.DER_cert_to_PEM_cert(s.getpeercert(True))
