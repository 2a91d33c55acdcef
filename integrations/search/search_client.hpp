// Sends searches: one thread of its own, which begins with the first search.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "integrations/search/search.hpp"

namespace quell::integrations {

/// Any thread.
class search_client {
 public:
  using reply = std::function<void(result<std::vector<found_page>>)>;
  constexpr static std::size_t most_at_once = 64;

  ~search_client();
  /// Calls `done` once, on any thread, unless the search is cancelled or the client stops first. Returns its number;
  /// 0: `done` was called already. Faults as in `read_search`, and `rate_limited` beyond `most_at_once`.
  std::uint64_t search(const search_settings& settings, const std::string& query, std::size_t count, reply done);
  /// Closes the connection. Ignores a search that is over.
  void cancel(std::uint64_t number);
  /// Cuts off all searches. Idempotent.
  void stop();

 private:
  struct running_count;
  std::mutex guard_;
  std::unique_ptr<chat::web_loop> network_;
  std::shared_ptr<running_count> running_;
  bool is_stopped_ = false;
};

} // namespace quell::integrations
