// The controller from this program's view: JSON requests with the token, answers or problems, and all pages of a list.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/connection.hpp"
#include "cli/http.hpp"
#include "cli/problem.hpp"

namespace quell::cli {

class api {
 public:
  using callback = std::function<void(answer<nlohmann::json>)>;

  /// Keeps `flags` to find the address again: a controller can come back on another port.
  api(event_loop& loop, connection_flags flags, environment env, connection c);

  const connection& where() const { return connection_; }
  event_loop& loop() { return loop_; }

  /// Synchronous; `path` begins with /v1. Without an answer: problem `unreachable`.
  answer<nlohmann::json> get(const std::string& path);
  answer<nlohmann::json> post(const std::string& path, const nlohmann::json& body);
  answer<nlohmann::json> remove(const std::string& path);
  /// Every page of the list under `key`, in the order of the server's cursors. At most 1,000,000 items.
  answer<nlohmann::json> all_pages(const std::string& path, const char* key);

  /// Asynchronous; `done` runs inside the loop. `body` null = none.
  event_loop::handle call(const std::string& method, const std::string& path, const nlohmann::json& body,
                          milliseconds timeout, callback done);
  /// The same with bytes of this media type as the body of a POST.
  event_loop::handle send_file(const std::string& path, const std::string& type, std::string bytes,
                               milliseconds timeout, callback done);
  /// A request with address and token, for streams and raw bytes.
  http_request request(const std::string& method, const std::string& path) const;
  /// The problem for a transfer that ended like this; `body` is the part that arrived.
  problem problem_of(const http_end& end, const std::string& body) const;
  /// Reads client.json again if the address came from there: after a restart the controller can listen elsewhere.
  void find_again();

 private:
  event_loop::handle send(http_request r, const std::string& path, callback done);
  answer<nlohmann::json> wait_for(const std::string& method, const std::string& path, const nlohmann::json& body);

  event_loop& loop_;
  connection_flags flags_;
  environment env_;
  connection connection_;
};

} // namespace quell::cli
