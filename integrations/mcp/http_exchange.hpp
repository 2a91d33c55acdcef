// One HTTP request to an MCP server and what comes back: messages, as one JSON body or as a stream of events.
//
// All of it on the one thread that drives the network. Nothing is told from inside of libcurl: an exchange says that
// there is news, and its owner looks.
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
  std::vector<std::string> headers; ///< whole lines; may hold secrets
  std::string body;
  std::string ca_file; ///< "": the library's own
  std::chrono::milliseconds connect_timeout{10'000};
  /// On a connection of its own. libcurl sends a request again by itself if a kept connection turns out to be dead,
  /// and nobody knows what the server had done with the first one.
  bool never_twice = false;
};

struct http_ending {
  long status = 0;       ///< 0: no answer came
  std::string session;   ///< the header Mcp-Session-Id, if it is one
  std::string challenge; ///< WWW-Authenticate, all of them with commas between
  std::string body;      ///< the beginning of what was no message
  std::string transport; ///< what the network says, if it was cut; ""
  std::string broken;    ///< what was wrong with what came; ""
  bool sent = false;     ///< anything of the request has left
};

class http_exchange {
 public:
  /// `news` is called from inside of libcurl and must only take note.
  http_exchange(transfers& network, http_ask what, std::function<void()> news);
  /// Closes the connection, unless the exchange is over. Not from inside of `news`.
  ~http_exchange();
  http_exchange(const http_exchange&) = delete;
  http_exchange& operator=(const http_exchange&) = delete;

  /// JSON texts in order, since the last time.
  std::vector<std::string> messages() { return std::exchange(messages_, {}); }
  /// Set when it is over.
  const std::optional<http_ending>& ending() const { return ending_; }
  /// Whether the server may have heard of it.
  bool sent() const;
  /// The session that the server gives, once its headers are here.
  const std::string& session() const { return session_; }

  /// The id of the last event of the answer, if one can be sent back in a header; else "".
  std::string last_event_id() const;
  std::optional<std::chrono::milliseconds> retry() const { return decoder_.retry(); }

  /// The network has ended the transfer of this handle.
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
