// One call of a model that writes a summary: an operation like any model call, below a turn or of a scope by itself.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/turns/agent_runtime.hpp"
#include "actors/turns/compaction.hpp"
#include "actors/turns/model_chain.hpp"

namespace quell::controller::turns {

/// How many tokens a summary may take where a conversation has this room.
std::size_t summary_tokens(const integrations::model_settings& model, std::size_t room);
/// How many tokens the model that summarises can read.
std::size_t summary_reading_room(const integrations::model_settings& model, std::size_t room);

struct summary_order {
  operation_id id;
  scope_path scope;
  records::person owner;
  std::string tenant{};               ///< the token whose share of a limited model it takes; "" = that of its scope
  std::optional<operation_id> parent; ///< none: it is an operation of the scope
  std::optional<operation_id> root;   ///< of the parent's tree
  std::shared_ptr<turn_tree> tree;    ///< of the parent's turn, whose budget it uses; none: only that of the day
  std::string agent;                  ///< for which it is written
  std::optional<std::uint64_t> as_of; ///< a cancel of the scope after this seq comes before it
  integrations::model_settings model; ///< its fallback models may have smaller contexts
  std::size_t tokens = 0;             ///< of the summary, at most
  compaction plan;
  std::optional<operation_id> sub_agent;            ///< whose conversation it is; none: the scope's
  std::shared_ptr<actors::agent_handle> stopped_by; ///< gets the stop of the operation
};

struct summary_end {
  std::optional<conversation_summary> summary; ///< durable; none: there is none, and `why` says why
  std::optional<fault> why;
};

/// Belongs to the actor or executor behind `post`: every function is called there, and what comes from elsewhere
/// becomes a step there. If no step runs any more, the operation ends with the last handle to this object.
class summary_call final : public std::enable_shared_from_this<summary_call> {
 public:
  summary_call(std::shared_ptr<agent_runtime> runtime, summary_order order, actors::step_poster post);
  ~summary_call();
  summary_call(const summary_call&) = delete;
  summary_call& operator=(const summary_call&) = delete;

  /// `accepted` (may be empty): the operation is there, or why it is not. `used`: the tokens, once, also of a call that
  /// was cut. `done`: at most once, and not if the operation was stopped.
  void start(std::function<void(const outcome<created>&)> accepted, std::function<void(const model_usage&)> used,
             std::function<void(summary_end)> done);
  /// `closed` is called once the operation has its end and its connection is gone.
  void stop(std::function<void()> closed);

 private:
  enum class phase : std::uint8_t { opening, asking, ending, over };
  void opened(const outcome<created>& made);
  void ask();
  std::string transcript();
  void take(const model_event& event);
  bool fall_back(const model_events::failed& failed);
  void fell_back(const model_events::fell_back& other);
  void count(const std::string& model, const model_usage& spent);
  used_by_call used_by(const std::string& model, const model_usage& used) const;
  records::event_record usage_event(const used_by_call& used) const;
  model_usage with_earlier(model_usage usage) const;
  void cut(std::unique_ptr<integrations::model_call> call);
  void finished(const model_usage& usage, bool was_cut);
  void end_failed(fault why, const model_usage& usage);
  void ended(summary_end end, bool is_its_end);
  model_call_end end_with(const model_usage& usage);
  void note(const closed_model_call& closed) const;
  records::event_record event(event_type type, std::string data) const;

  const std::shared_ptr<agent_runtime> runtime_;
  const summary_order order_;
  const actors::step_poster post_;
  std::function<void(const outcome<created>&)> accepted_;
  std::function<void(const model_usage&)> used_;
  std::function<void(summary_end)> done_;
  phase phase_ = phase::opening;
  bool is_stopped_ = false;
  bool is_there_ = false, is_ended_ = false; ///< the operation; its end is on its way or stored
  std::function<void()> closed_;
  std::string text_;
  std::string requested_model_; ///< the configured name
  model_usage counted_;         ///< by attempts that it has given up
  model_chain chain_;
  call_course progress_;     ///< of the call that is under way
  model_usage before_;       ///< of calls before this one: their models could not answer
  std::uint64_t unread_ = 0; ///< messages that the model was not shown, because its context is smaller
  std::unique_ptr<integrations::model_call> call_;
};

} // namespace quell::controller::turns
