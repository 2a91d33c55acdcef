// Collects the tools that several servers offer to one turn. Belongs to the MCP-host actor.
#pragma once

#include <cstddef>
#include <functional>
#include <iterator>
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

class tool_gathering {
 public:
  /// `done` is called once, when every server has settled.
  tool_gathering(std::size_t servers, std::function<void(offered_tools)> done)
      : servers_(servers), open_(servers), done_(std::move(done)) {}

  /// The contribution of one server.
  struct contribution {
    std::vector<tool_definition> tools{};
    std::string problem{}; ///< why it has no tools; "" = none
    std::string login{};   ///< its name, if it needs a login
  };

  /// The server `number` has answered, or its time is over. Only the first contribution of a server counts.
  void answer(std::size_t number, contribution what) {
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
    tell(std::move(all));
  }
  bool is_settled(std::size_t number) const { return servers_[number].is_settled; }

 private:
  struct server {
    contribution what{};
    bool is_settled = false;
  };

  std::vector<server> servers_;
  std::size_t open_;
  std::function<void(offered_tools)> done_;
};

} // namespace quell::controller::turns
