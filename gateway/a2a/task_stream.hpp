// The stream of a task: first the task, then its updates, until it is over.
#pragma once

#include <functional>
#include <memory>

#include "gateway/a2a/task_reading.hpp"
#include "gateway/compat/turn_translator.hpp"

namespace quell::controller::http::a2a {

/// Wraps one result as a frame of the stream: bare, or as a response of JSON-RPC.
using as_frame = std::function<std::string(const nlohmann::ordered_json& result)>;

/// The updates that a turn's events become. Pure; belongs to one stream.
class task_updates final : public turn_translator {
 public:
  /// `facts.text`: what the stream has shown already.
  task_updates(task_facts facts, as_frame wrap)
      : turn_translator(facts.id), facts_(std::move(facts)), wrap_(std::move(wrap)), shown_(facts_.text) {}

  /// The frames for this event, the beginning of a stop included; "" = none. The end is not told here: it may wait for
  /// the proof.
  std::string update(const rendered_event& event);
  /// The last frames, once the task is over.
  std::string last(const task_facts& over) const;

 private:
  std::string replaced_from(std::uint64_t offset);
  bool asks(const std::string& question) const;
  std::string on_text(const std::string& text) override;
  std::string on_thinking(const std::string&) override { return {}; }
  std::string on_call(const shown_call&) override { return {}; }
  std::string on_result(const shown_call&) override { return {}; }
  std::string on_approval(event_type type, const nlohmann::json& data) override;
  std::string on_end(const turn_end&) override { return {}; }

  task_facts facts_;
  as_frame wrap_;
  std::string shown_;        ///< the artifact's text as the client has it
  std::uint64_t offset_ = 0; ///< of the newest text event, in code points
};

/// `after`: the newest event when the task was read. `facts`: the first thing that the client gets. The client's
/// disconnect stops nothing: the task goes on, and can be subscribed to again. `held`: the stream's ticket.
response streamed_task(exchange& x, const served_agent& agent, task_facts facts, std::uint64_t after, as_frame wrap,
                       std::shared_ptr<void> held);

} // namespace quell::controller::http::a2a
