// Collects the tools that several servers offer to one turn.
//
// An outcome's news about its server is recorded before the turn goes on, and under the same lock that decides whether
// the answer or its time limit came first. Otherwise the next turn could ask before the silence is known, and wait for
// the same server again; and the silence could be recorded after the answer that ends it.
#pragma once

#include <cstddef>
#include <functional>
#include <iterator>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "actors/turns/tool_catalogue.hpp"

namespace quell::controller::turns {

struct offered_tools {
  std::vector<tool_definition> tools{};
  std::string note{};                ///< the servers that did not answer in time, and why; "" = none
  std::vector<std::string> logins{}; ///< those of them that need a login
};

/// Any thread.
class tool_gathering {
 public:
  /// `done` is called once, without the lock, when every server has settled.
  tool_gathering(std::size_t servers, std::function<void(offered_tools)> done)
      : servers_(servers), open_(servers), done_(std::move(done)) {}

  /// The contribution of one server.
  struct contribution {
    std::vector<tool_definition> tools{};
    std::string problem{}; ///< why it has no tools; "" = none
    std::string login{};   ///< its name, if it needs a login
  };
  /// Runs under the lock: it must not call back.
  using record = std::function<void()>;

  /// The server `number` has answered. A late answer contributes nothing, and is recorded as well.
  void answer(std::size_t number, contribution what, const record& keep) {
    std::unique_lock lock(guard_);
    keep();
    settle(lock, number, std::move(what));
  }
  /// Its time is over. Nothing happens if it has answered.
  void time_out(std::size_t number, contribution what, const record& keep) {
    std::unique_lock lock(guard_);
    if (servers_[number].is_settled) return;
    keep();
    settle(lock, number, std::move(what));
  }
  bool is_settled(std::size_t number) {
    const std::lock_guard lock(guard_);
    return servers_[number].is_settled;
  }

 private:
  struct server {
    contribution what{};
    bool is_settled = false;
  };

  void settle(std::unique_lock<std::mutex>& lock, std::size_t number, contribution what) {
    server& one = servers_[number];
    if (std::exchange(one.is_settled, true)) return;
    one.what = std::move(what);
    if (--open_ > 0) return;
    const auto tell = std::exchange(done_, nullptr);
    offered_tools all;
    for (server& each : servers_) {
      // A time limit keeps this object for a while, without the tools.
      auto from = std::exchange(each.what, {});
      std::move(from.tools.begin(), from.tools.end(), std::back_inserter(all.tools));
      if (!from.problem.empty()) all.note += (all.note.empty() ? "" : "; ") + from.problem;
      if (!from.login.empty()) all.logins.push_back(std::move(from.login));
    }
    lock.unlock();
    tell(std::move(all));
  }

  std::mutex guard_;
  std::vector<server> servers_;
  std::size_t open_;
  std::function<void(offered_tools)> done_;
};

} // namespace quell::controller::turns
