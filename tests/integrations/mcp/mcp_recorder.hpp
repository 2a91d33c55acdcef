// Listeners that keep the events of an MCP call and its cancel, and wait for them with a deadline.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "integrations/mcp/mcp.hpp"
#include "tests/integrations/http_server.hpp"

namespace quell::testing {

class mcp_recorder {
 public:
  std::function<void(integrations::mcp_call_event)> listener() {
    return [kept = kept_](integrations::mcp_call_event event) {
      const std::lock_guard lock(kept->guard);
      kept->events.push_back(std::move(event));
      kept->changed.notify_all();
    };
  }
  integrations::late_result_listener late() {
    return [kept = kept_](const std::string& what) {
      const std::lock_guard lock(kept->guard);
      kept->late_results.push_back(what);
      kept->changed.notify_all();
    };
  }
  integrations::mcp_server::tools_reply reply() {
    return [kept = kept_](result<std::vector<integrations::mcp_tool>> tools) {
      const std::lock_guard lock(kept->guard);
      kept->lists.push_back(std::move(tools));
      kept->changed.notify_all();
    };
  }
  std::vector<integrations::mcp_call_event> events() const {
    const std::lock_guard lock(kept_->guard);
    return kept_->events;
  }
  std::vector<std::string> late_results() const {
    const std::lock_guard lock(kept_->guard);
    return kept_->late_results;
  }
  std::size_t count_of_progress() const {
    const std::lock_guard lock(kept_->guard);
    return progress(*kept_);
  }
  void wait_for_progress(std::size_t count = 1) const {
    wait("progress", [count](const kept& all) { return progress(all) >= count; });
  }
  integrations::mcp_call_events::question question(std::size_t count = 1) const {
    const auto questions_in = [](const kept& all) {
      std::vector<integrations::mcp_call_events::question> found;
      for (const auto& one : all.events)
        if (const auto* q = std::get_if<integrations::mcp_call_events::question>(&one)) found.push_back(*q);
      return found;
    };
    wait("a question", [&](const kept& all) { return questions_in(all).size() >= count; });
    const std::lock_guard lock(kept_->guard);
    return questions_in(*kept_)[count - 1];
  }
  integrations::mcp_call_events::finished finished() const {
    wait("the end of a call", &mcp_recorder::ended);
    const auto all = events();
    if (const auto* failed = std::get_if<integrations::mcp_call_events::failed>(&all.back()))
      FAIL("failed: " << failed->why.code << ": " << failed->why.detail);
    return std::get<integrations::mcp_call_events::finished>(all.back());
  }
  integrations::mcp_call_events::failed failed() const {
    wait("the failure of a call", &mcp_recorder::ended);
    const auto all = events();
    REQUIRE(std::holds_alternative<integrations::mcp_call_events::failed>(all.back()));
    return std::get<integrations::mcp_call_events::failed>(all.back());
  }
  std::string wait_for_late(std::size_t count = 1) const {
    wait("what became of a cancel", [count](const kept& all) { return all.late_results.size() >= count; });
    return late_results()[count - 1];
  }
  result<std::vector<integrations::mcp_tool>> tools(std::size_t count = 1) const {
    wait("a list of tools", [count](const kept& all) { return all.lists.size() >= count; });
    const std::lock_guard lock(kept_->guard);
    return kept_->lists[count - 1];
  }

 private:
  struct kept {
    std::mutex guard;
    std::condition_variable changed;
    std::vector<integrations::mcp_call_event> events;
    std::vector<std::string> late_results;
    std::vector<result<std::vector<integrations::mcp_tool>>> lists;
  };
  static std::size_t progress(const kept& all) {
    std::size_t found = 0;
    for (const auto& one : all.events)
      found += std::holds_alternative<integrations::mcp_call_events::progress>(one) ? 1 : 0;
    return found;
  }
  static bool ended(const kept& all) { return !all.events.empty() && integrations::is_end(all.events.back()); }
  template <class Done>
  void wait(const std::string& what, Done done) const {
    std::unique_lock lock(kept_->guard);
    if (!kept_->changed.wait_for(lock, test_bound, [&] { return done(*kept_); })) FAIL("waited 30 s for " + what);
  }
  std::shared_ptr<kept> kept_ = std::make_shared<kept>();
};

} // namespace quell::testing
