// A small blocking HTTP/1.1 client over a raw socket, with deadlines whose failures name the awaited event.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace quell::controller::test {

struct http_reply {
  unsigned status = 0;
  std::multimap<std::string, std::string> headers; ///< names in lower case
  std::string body;
  std::multimap<std::string, std::string> trailers;

  std::string header(const std::string& name) const;
  /// The body as JSON; throws if it is not JSON.
  nlohmann::json json() const { return nlohmann::json::parse(body); }
  std::string code() const { return json().value("code", std::string()); }
};

using header_list = std::vector<std::pair<std::string, std::string>>;

class http_client {
 public:
  explicit http_client(std::uint16_t port);
  explicit http_client(const std::string& unix_path);
  ~http_client();
  http_client(const http_client&) = delete;

  void send(const std::string& bytes);
  void send_request(const std::string& method, const std::string& target, const header_list& headers = {},
                    const std::string& body = {});
  /// Reads one whole answer (sized, chunked or until close).
  http_reply read_reply();
  http_reply ask(const std::string& method, const std::string& target, const header_list& headers = {},
                 const std::string& body = {}) {
    send_request(method, target, headers, body);
    return read_reply();
  }
  /// Reads the head only; the body is read piece by piece.
  http_reply read_head();
  /// The next decoded chunk of a chunked answer; nullopt at its end. The trailers are kept.
  std::optional<std::string> read_chunk();
  /// Reads decoded chunks until `text` holds `wanted`.
  std::string read_until(const std::string& wanted);
  const std::multimap<std::string, std::string>& trailers() const { return trailers_; }
  /// True once the server has closed its side.
  bool at_end();
  void close();
  void shutdown_reading();

 private:
  bool fill();
  std::string line();
  std::string take(std::size_t bytes);
  int socket_ = -1;
  std::string buffer_;
  std::string decoded_;
  std::multimap<std::string, std::string> trailers_;
};

} // namespace quell::controller::test
