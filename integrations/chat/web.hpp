// HTTP requests to chat services: one thread per connector, which also runs the connector's own work.
//
// A connector is a `web_loop` and a function that decides the next actions: everything runs on the loop's thread, so it
// needs no lock of its own. Other threads only hand over (`run`).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/fault.hpp"
#include "protocol/time.hpp"

namespace quell::integrations::chat {

struct web_request {
  std::string method = "POST";
  std::string url;
  std::vector<std::string> headers{}; ///< `Name: value`; never logged
  std::string body{};
  milliseconds connect_timeout{5000};
  milliseconds timeout{30'000};    ///< for the whole request
  std::string ca_file{};           ///< "": the system's authorities
  std::size_t most_body = 4 << 20; ///< of the answer; a longer body ends the request as `unknown`
  /// Somebody else has chosen the url: only addresses of the public internet are connected to (`not_sent` otherwise),
  /// whatever the name resolves to, and no proxy is used.
  bool public_only = false;
};

enum class web_end : std::uint8_t {
  answered, ///< there is a status
  not_sent, ///< certainly not done: no name resolution, no connection, no TLS
  unknown,  ///< possibly done: the connection broke, or the time is over
};

struct web_response {
  web_end what = web_end::unknown;
  long status = 0;
  std::map<std::string, std::string> headers{}; ///< names in lower case; if repeated, the last value
  std::string body{};
  std::string error{};       ///< for display, if not answered
  bool is_too_large = false; ///< the body was longer than `most_body`

  bool is_good() const { return what == web_end::answered && status >= 200 && status <= 299; }
  /// The header's value, or "".
  std::string header(std::string_view name) const;
  /// The header `Retry-After` (seconds, possibly with a fraction); 0 = none. At most an hour.
  milliseconds retry_after() const;
};

class web_loop {
 public:
  /// `turn` runs on the loop's thread after every event there, and at the time that it returned (nullopt: none needed).
  /// `turn` may call fetch, cancel and run. Fault `internal`: no descriptors or no thread.
  static result<std::unique_ptr<web_loop>> start(std::function<std::optional<boot_time>(boot_time now)> turn);
  ~web_loop();
  web_loop(const web_loop&) = delete;
  web_loop& operator=(const web_loop&) = delete;

  /// Any thread: `job` runs on the loop's thread, in the order of the calls. After `stop`: never.
  void run(std::function<void()> job);
  /// Any thread: `done` is called once on the loop's thread, unless the request is cancelled or the loop stops first.
  std::uint64_t fetch(web_request request, std::function<void(web_response)> done);
  /// Loop's thread only: closes the connection; `done` is not called. Ignores a request that is over.
  void cancel(std::uint64_t number);

  /// Not on the loop's thread: ends it and cuts off running requests. No callback runs afterwards. Idempotent.
  void stop();

  /// CLOCK_BOOTTIME.
  static boot_time now();

 private:
  struct implementation;
  explicit web_loop(std::unique_ptr<implementation> c);
  std::unique_ptr<implementation> implementation_;
};

/// `text` encoded for `application/x-www-form-urlencoded` and query strings.
std::string form_encoded(std::string_view text);
/// Decodes one component of a form or query: `+` is a space; an invalid `%` is kept.
std::string form_decoded(std::string_view text);
/// The fields of a form body or query, decoded, in order. At most 256.
std::vector<std::pair<std::string, std::string>> form_fields(std::string_view text);

} // namespace quell::integrations::chat
