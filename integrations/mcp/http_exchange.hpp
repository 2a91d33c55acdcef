// One HTTP request to an MCP server, and its answer: messages, as one JSON body or as a stream of events.
//
// Everything runs on the one thread that drives the network. Nothing is delivered from inside libcurl: an exchange
// signals that it has news, and its owner reads them.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "integrations/models/sse.hpp"
#include "integrations/models/transfers.hpp"

namespace quell::integrations {

struct http_ask {
  enum class method { post, get, remove } how = method::post;
  std::string url;
  std::vector<std::string> headers; ///< whole lines; can contain secrets
  std::string body;
  std::string ca_file; ///< "": the library's default
  std::chrono::milliseconds connect_timeout{10'000};
  /// Use a new connection. On a kept connection that turns out to be dead libcurl sends the request a second time,
  /// although the server may already have acted on the first.
  bool never_twice = false;
};

struct http_ending {
  long status = 0;       ///< 0: no answer came
  std::string session;   ///< the header Mcp-Session-Id, if valid
  std::string challenge; ///< all WWW-Authenticate headers, joined by commas
  std::string body;      ///< the beginning of a body that is not a message
  std::string transport; ///< the network's error if the transfer was cut; ""
  std::string broken;    ///< the error in the received data; ""
  bool sent = false;     ///< part of the request was sent
};

class http_exchange {
 public:
  /// `news` is called from inside libcurl and must only set a flag.
  http_exchange(transfers& network, http_ask what, std::function<void()> news);
  /// Closes the connection, unless the exchange is over. Not from inside of `news`.
  ~http_exchange();
  http_exchange(const http_exchange&) = delete;
  http_exchange& operator=(const http_exchange&) = delete;

  /// JSON texts in order, since the last call.
  std::vector<std::string> messages() { return std::exchange(messages_, {}); }
  /// Set when it is over.
  const std::optional<http_ending>& ending() const { return ending_; }
  /// Whether the server can have received any of the request.
  bool sent() const;
  /// The session that the server assigned, once its headers have arrived.
  const std::string& session() const { return session_; }

  /// The id of the last event of the answer if it is valid in a header, otherwise "".
  std::string last_event_id() const;
  std::optional<std::chrono::milliseconds> retry() const { return decoder_.retry(); }

  /// Called when the transfer of this handle has ended.
  static void done(CURL* easy, CURLcode code);

 private:
  static std::size_t on_header(char* bytes, std::size_t one, std::size_t count, void* self);
  static std::size_t on_body(char* bytes, std::size_t one, std::size_t count, void* self);
  void set_options();
  bool take_header(std::string_view line);
  bool take_body(std::string_view bytes);
  bool take_events(std::string_view bytes);
  bool give_up(std::string why);
  void finish(CURLcode code);

  transfers& network_;
  const http_ask what_;
  const std::function<void()> news_;
  CURL* easy_ = nullptr;
  curl_slist* headers_ = nullptr;
  char error_[CURL_ERROR_SIZE] = {};
  sse_decoder decoder_;
  std::string type_, session_, challenge_, body_, broken_;
  std::size_t header_bytes_ = 0, body_bytes_ = 0;
  std::vector<std::string> messages_;
  std::optional<http_ending> ending_;
};

} // namespace quell::integrations
