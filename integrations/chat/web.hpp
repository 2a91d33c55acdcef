// HTTP requests to chat services: one thread per connector, which also runs the connector's own work.
//
// A connector is a `web_loop` and a function that says what to do now: everything of it runs on the loop's thread, so
// it needs no lock of its own. Other threads only hand over (`run`).
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
  milliseconds timeout{30'000};    ///< for the whole
  std::string ca_file{};           ///< "": the system's authorities
  std::size_t most_body = 4 << 20; ///< of the answer; more ends the request as `unknown`
};

enum class web_end : std::uint8_t {
  answered, ///< there is a status
  not_sent, ///< certainly not done: no name, no connection, no TLS
  unknown,  ///< the request may have been done: the connection broke, or the time is over
};

struct web_response {
  web_end what = web_end::unknown;
  long status = 0;
  std::map<std::string, std::string> headers{}; ///< names in lower case; the last one of each
  std::string body{};
  std::string error{}; ///< for people, if not answered

  bool is_good() const { return what == web_end::answered && status >= 200 && status <= 299; }
  /// The header, or "".
  std::string header(std::string_view name) const;
  /// What the header `Retry-After` (seconds, perhaps with a fraction) says; 0 = nothing. At most an hour.
  milliseconds retry_after() const;
};

class web_loop {
 public:
  /// `turn` is called on the loop's thread after anything happened there, and at the instant that it returned (nullopt:
  /// no need). `turn` may call fetch, cancel and run. Fault `internal`: no descriptors or no thread.
  static result<std::unique_ptr<web_loop>> start(std::function<std::optional<boot_time>(boot_time now)> turn);
  ~web_loop();
  web_loop(const web_loop&) = delete;
  web_loop& operator=(const web_loop&) = delete;

  /// Any thread: `job` runs on the loop's thread, in the order of the calls. After `stop`: never.
  void run(std::function<void()> job);
  /// Any thread: `done` is called once on the loop's thread, unless it is cancelled or the loop stops first.
  std::uint64_t fetch(web_request request, std::function<void(web_response)> done);
  /// Loop's thread only: the connection is closed, `done` is not called. A number that is over does no harm.
  void cancel(std::uint64_t number);

  /// Not the loop's thread: ends it; what runs is cut off. Nothing is called afterwards. Twice does no harm.
  void stop();

  /// CLOCK_BOOTTIME.
  static boot_time now();

 private:
  struct core;
  explicit web_loop(std::unique_ptr<core> c);
  std::unique_ptr<core> core_;
};

/// `text` for `application/x-www-form-urlencoded` and query strings.
std::string form_encoded(std::string_view text);
/// Of one component of a form or query: `+` is a space; a broken `%` is kept as it is.
std::string form_decoded(std::string_view text);
/// The fields of a form body or query, decoded, in order. At most 256.
std::vector<std::pair<std::string, std::string>> form_fields(std::string_view text);

} // namespace quell::integrations::chat
