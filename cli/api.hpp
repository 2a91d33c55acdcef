// The controller as this program sees it: JSON requests with the token, answers or problems, and all pages of a list.
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

  /// `flags` are kept to find the address again: a controller may come back on another port.
  api(event_loop& loop, connection_flags flags, environment env, connection c);

  const connection& where() const { return connection_; }
  event_loop& loop() { return loop_; }

  /// Synchronous; `path` begins with /v1. No answer at all: problem `unreachable`.
  answer<nlohmann::json> get(const std::string& path);
  answer<nlohmann::json> post(const std::string& path, const nlohmann::json& body);
  answer<nlohmann::json> remove(const std::string& path);
  /// Every page of the list under `key`, oldest cursor first as the server gives it. At most 1,000,000 items.
  answer<nlohmann::json> all_pages(const std::string& path, const char* key);

  /// Asynchronous; `done` runs inside the loop. `body` null = none.
  event_loop::handle call(const std::string& method, const std::string& path, const nlohmann::json& body,
                          milliseconds timeout, callback done);
  /// A request with address and token, for streams and raw bytes.
  http_request request(const std::string& method, const std::string& path) const;
  /// The problem in an answer whose transfer ended like this; the body is what came of it.
  problem problem_of(const http_end& end, const std::string& body) const;
  /// Reads client.json again if the address came from there: after a restart the controller may listen elsewhere.
  void find_again();

 private:
  answer<nlohmann::json> wait_for(const std::string& method, const std::string& path, const nlohmann::json& body);

  event_loop& loop_;
  connection_flags flags_;
  environment env_;
  connection connection_;
};

} // namespace quell::cli
