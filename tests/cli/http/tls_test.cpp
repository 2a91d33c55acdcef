// TLS: whom the client believes.
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>

#include "tests/cli/http/fetching.hpp"
#include "tests/cli/http/scripted_server.hpp"

using namespace quell::cli;
using namespace quell::cli::test;

namespace {

std::string text_of(BIO* bio) {
  char* bytes = nullptr;
  const auto size = BIO_get_mem_data(bio, &bytes);
  std::string text(bytes, static_cast<std::size_t>(size));
  BIO_free(bio);
  return text;
}

/// Signed with its own key, for `names` as in a subjectAltName, valid from an hour ago for `seconds`.
identity certificate_for(const char* names, long seconds = 86'400) {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = X509_new();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate), seconds);
  X509_NAME* subject = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(subject, "O", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("quell"), -1, -1, 0);
  X509_set_issuer_name(certificate, subject);
  X509_set_pubkey(certificate, key);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, names);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
  X509_sign(certificate, key, EVP_sha256());
  BIO* one = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(one, certificate);
  BIO* other = BIO_new(BIO_s_mem());
  PEM_write_bio_PrivateKey(other, key, nullptr, nullptr, 0, nullptr, nullptr);
  X509_free(certificate);
  EVP_PKEY_free(key);
  return {text_of(one), text_of(other)};
}

struct temporary_file {
  std::string path = "/tmp/quell-cli-test-XXXXXX";
  explicit temporary_file(const std::string& text) {
    ::close(::mkstemp(path.data()));
    std::ofstream(path) << text;
  }
  ~temporary_file() { ::unlink(path.c_str()); }
};

scripted_server::script answers() {
  return [](served& c) {
    while (!c.request().empty()) c.send(answer_of("sealed"));
  };
}

transfer_log fetch_trusting(event_loop& loop, const std::string& url, const std::string& ca_file) {
  auto request = request_for(url, "POST");
  request.ca_file = ca_file;
  return fetch(loop, request);
}

} // namespace

TEST_CASE("a certificate for the name or the address is accepted, and its connection kept") {
  const auto who = certificate_for("DNS:localhost,IP:127.0.0.1");
  const temporary_file authority(who.certificate);
  scripted_server server(answers(), &who);
  event_loop loop;
  for (const char* host : {"localhost", "127.0.0.1", "127.0.0.1"}) {
    const auto got = fetch_trusting(loop, server.url("/", host), authority.path);
    CHECK(got.end->error == "");
    CHECK(got.body == "sealed");
  }
  CHECK(server.connections() == 2);
}

TEST_CASE("a certificate for somebody else is refused, and nothing is sent") {
  struct example {
    const char *names, *host, *why;
  };
  const auto e = GENERATE(example{"DNS:other.example", "localhost", "hostname mismatch"},
                          example{"DNS:127.0.0.1,DNS:localhost", "127.0.0.1", "IP address mismatch"},
                          example{"IP:127.0.0.2", "127.0.0.1", "IP address mismatch"},
                          example{"IP:127.0.0.1", "localhost", "hostname mismatch"});
  const auto who = certificate_for(e.names);
  const temporary_file authority(who.certificate);
  scripted_server server(answers(), &who);
  event_loop loop;
  const auto got = fetch_trusting(loop, server.url("/", e.host), authority.path);
  CAPTURE(got.end->error);
  CHECK(got.end->error.find("certificate is not accepted: " + std::string(e.why)) != std::string::npos);
  CHECK_FALSE(got.end->sent);
  CHECK(got.heads == 0);
}

TEST_CASE("an expired certificate, and one of nobody known, are refused") {
  const auto expired = certificate_for("DNS:localhost", -60), unknown = certificate_for("DNS:localhost");
  const temporary_file authority(expired.certificate);
  event_loop loop;
  {
    scripted_server server(answers(), &expired);
    const auto got = fetch_trusting(loop, server.url("/", "localhost"), authority.path);
    CHECK(got.end->error.find("certificate has expired") != std::string::npos);
    CHECK_FALSE(got.end->sent);
  }
  scripted_server server(answers(), &unknown);
  for (const std::string& ca_file : {authority.path, std::string()}) {
    const auto got = fetch_trusting(loop, server.url("/", "localhost"), ca_file);
    CHECK(got.end->error.find("certificate is not accepted: self-signed certificate") != std::string::npos);
    CHECK_FALSE(got.end->sent);
  }
}

TEST_CASE("a file of authorities that cannot be read is named, and a server without TLS is told from a good one") {
  scripted_server plain([](served& c) {
    c.send("HTTP/1.1 400 Bad\r\n\r\n");
    c.client_closes();
  });
  event_loop loop;
  const std::string url = "https://localhost:" + std::to_string(plain.port()) + "/";
  const temporary_file nonsense("nothing");
  for (const std::string& ca_file : {std::string("/nonexistent/ca.pem"), nonsense.path}) {
    const auto missing = fetch_trusting(loop, url, ca_file);
    CHECK(missing.end->error.find("authorities " + ca_file + " cannot be read") != std::string::npos);
    CHECK_FALSE(missing.end->sent);
  }
  const auto got = fetch_trusting(loop, url, "");
  CHECK(got.end->error.find("TLS handshake failed") != std::string::npos);
  CHECK_FALSE(got.end->sent);
}

TEST_CASE("an answer over TLS that is cut without a goodbye is not taken for a whole one") {
  const auto who = certificate_for("DNS:localhost");
  const temporary_file authority(who.certificate);
  const bool says_goodbye = GENERATE(false, true);
  scripted_server server(
      [says_goodbye](served& c) {
        c.request();
        c.send("HTTP/1.1 200 OK\r\n\r\nup to the end");
        if (!says_goodbye) c.cut();
      },
      &who);
  event_loop loop;
  const auto got = fetch_trusting(loop, server.url("/", "localhost"), authority.path);
  CHECK((got.end->error == "") == says_goodbye);
  CHECK(got.body == "up to the end");
}
