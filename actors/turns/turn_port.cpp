// Each step is one command, so that rows that belong together reach the disk together.
#include "actors/turns/turn_port.hpp"

#include <algorithm>
#include <utility>

#include "actors/turns/changed_input.hpp"
#include "actors/turns/endings.hpp"
#include "actors/turns/fitted_request.hpp"
#include "actors/turns/history.hpp"
#include "actors/turns/history_reading.hpp"
#include "actors/turns/kept_decision.hpp"
#include "actors/turns/printed.hpp"
#include "actors/turns/questions_by_chat.hpp"
#include "actors/turns/speakers.hpp"
#include "actors/turns/standing_rules.hpp"
#include "actors/turns/tool_input.hpp"
#include "controller/commands/begin_call.hpp"
#include "controller/commands/close_model_call.hpp"
#include "controller/commands/command_request.hpp"
#include "controller/commands/end_local.hpp"
#include "controller/commands/open_model_call.hpp"
#include "controller/commands/open_steered_call.hpp"
#include "controller/commands/stop_local.hpp"
#include "controller/commands/store_answer.hpp"

namespace quell::controller::turns {

namespace {

/// The most bytes of a result in the call's operation; the history keeps the whole result.
constexpr std::size_t most_kept_with_call = 64 << 10;

} // namespace

fault turn_port::low_on_space() {
  return coded_fault{
      error_code::storage_unavailable, "the state directory is almost full: free some space, then ask again", {}};
}

std::shared_ptr<actors::agent_handle>
turn_port::spawn_with(const std::function<std::shared_ptr<actors::agent_handle>()>& spawn) {
  const std::lock_guard lock(guard_);
  agent_ = spawn();
  return agent_;
}

turn_now turn_port::tokens_of() const {
  const auto sum = who_.tree->cost();
  const std::lock_guard lock(guard_);
  auto now = now_;
  now.usage = sum.usage;
  now.model_calls = sum.calls;
  return now;
}

std::optional<actors::turn_effects::end> turn_port::ended() const {
  const std::lock_guard lock(guard_);
  return end_;
}

void turn_port::adopt_calls(const std::vector<operation_id>& calls) {
  const std::lock_guard lock(guard_);
  for (const auto& id : calls) runtime_->registry.add_call(id, agent_, call_of::tool, weak_from_this());
}

void turn_port::adopt_past(const actors::turn_past& past) {
  const std::lock_guard lock(guard_);
  now_.text = past.text.substr(0, past.text.size() - past.unsaid.size()); // the rest will be said
  now_.tool_calls = past.tool_calls;
}

void turn_port::adopt_context(kept_context context) {
  const std::lock_guard lock(guard_);
  kept_ = std::move(context);
}

std::uint64_t turn_port::tool_calls() const {
  const std::lock_guard lock(guard_);
  return now_.tool_calls;
}

bool turn_port::take_place() {
  const std::lock_guard lock(guard_);
  if (sub_agents_ >= who_.agent.budget.width || !who_.tree->take_place()) return false;
  ++sub_agents_;
  return true;
}

void turn_port::give_place_back() {
  const std::lock_guard lock(guard_);
  --sub_agents_;
  who_.tree->give_place_back();
}

void turn_port::add_usage_below(const model_usage& used) {
  const std::lock_guard lock(guard_);
  below_ += used;
}

actors::tool_traits turn_port::traits(const tool_call& call) {
  auto t = traits_of(who_.tools, runtime_->settings->approvals, call);
  if (t.approval_rule.empty()) t.approval_rule = question_by_chat(who_, *runtime_->settings.get(), call);
  if (!t.unusable && !t.approval_rule.empty() && runtime_->allowed &&
      runtime_->allowed->covers(who_.scope, who_.agent.name, call.name, call.input, t.approval_rule,
                                runtime_->core.now().wall))
    t.approval_rule.clear();
  return t;
}

commands::open_model_call model_call_of(const agent_context& who, std::uint32_t number, std::string expected) {
  create_order order;
  order.by = agent_runtime::acting_for(who.owner);
  order.kind = kind::model_call;
  order.parent = who.operation;
  order.name = who.model.name;
  order.title = "model call " + std::to_string(number);
  order.kind_data = std::move(expected);
  return {std::move(order), operation_id::fresh(), who.tree->turn(), who.tree->limits()};
}

void turn_port::open_model_call(std::uint32_t number, actors::answer<result<operation_id>> done) {
  if (takes_first_call(done)) return;
  if (runtime_->core.is_low()) return done(tl::unexpected(low_on_space()));
  auto step = model_call_of(who_, number, std::exchange(expected_, {}));
  const auto id = step.id;
  expect_call(id, call_of::model);
  {
    const std::lock_guard lock(guard_);
    open_call_ = id;
    expected_of_open_ = step.order.kind_data;
    is_requested_ = false;
    counted_ = {};
  }
  auto opened = [self = shared_from_this(), id, done = std::move(done)](const outcome<created>& made) {
    if (made) return done(id);
    self->runtime_->registry.drop(id);
    done(tl::unexpected(made.error().error));
  };
  auto waiting = runtime_->steering.of(who_.operation);
  if (waiting.empty()) return runtime_->core.execute({std::move(step), std::move(opened)});
  runtime_->background_reads->run([self = shared_from_this(), step = std::move(step), opened = std::move(opened),
                                   waiting = std::move(waiting)](store_reader& store) mutable {
    self->open_steered_call(std::move(step), waiting, store, std::move(opened));
  });
}

void turn_port::open_steered_call(commands::open_model_call step, const std::vector<operation_id>& waiting,
                                  store_reader& store, std::function<void(const outcome<created>&)> opened) {
  auto found = read_steering_of(who_.operation, who_.root, waiting, store);
  for (const auto& id : found.gone) runtime_->steering.over(id);
  std::map<operation_id, user_message> messages;
  const auto stored = read_history(store, who_.scope, who_.operation);
  const speakers people(stored ? stored->kept : std::vector<records::kept_message>{}); // named as after a restart
  for (const auto& one : found.all)
    messages.emplace(one.turn, user_message{people.text_of(one.message), files_in(one.message.decision), true});
  runtime_->core.execute({commands::open_steered_call{std::move(step), std::move(found.all)},
                          [self = shared_from_this(), messages = std::move(messages),
                           opened = std::move(opened)](const commands::steered_call& made) {
                            for (const auto& id : made.delivered) {
                              self->runtime_->steering.over(id);
                              const std::lock_guard lock(self->guard_);
                              self->steering_.push_back(messages.at(id));
                            }
                            opened(made.call);
                          }});
}

std::vector<user_message> turn_port::take_steering() {
  const std::lock_guard lock(guard_);
  return std::exchange(steering_, {});
}

/// Before the core knows the call, so that a stop always finds its agent.
void turn_port::expect_call(const operation_id& id, call_of what) {
  const std::lock_guard lock(guard_);
  runtime_->registry.add_call(id, agent_, what, weak_from_this());
}

/// An MCP server promises nothing about a call that was cancelled or timed out.
void turn_port::mark_unknown(tool_results& results) const {
  for (auto& r : results.results) {
    const auto* tool = r.ok ? nullptr : who_.tools.find(r.name);
    if (!tool || tool->how != tool_definition::runs::mcp) continue;
    const bool is_stopped = r.cancelled ? r.result != runtime_->texts->not_started()
                                        : has_code(error_of_result(r.result), failure_code::timeout);
    if (is_stopped) r.result = with_unknown_outcome(r.result);
  }
}

std::unique_ptr<actors::model_stream> turn_port::ask_model(conversation messages, actors::step_poster post,
                                                           std::function<void(model_event)> listener) {
  for (auto& entry : messages)
    if (auto* results = std::get_if<tool_results>(&entry)) {
      for (auto& r : results->results) take_printed(r);
      mark_unknown(*results);
      for (auto& r : results->results) take_changed(r);
    }
  fitted_request request;
  request.runtime = runtime_;
  request.who = {shared_from_this(), &who_};
  request.post = std::move(post);
  request.listener = std::move(listener);
  request.compacted = [self = shared_from_this()](const placed_conversation& now, const compaction& plan) {
    const std::lock_guard lock(self->guard_);
    self->kept_.take(now, plan);
  };
  request.used_beside = [self = shared_from_this()](const model_usage& used) { self->add_usage_below(used); };
  {
    const std::lock_guard lock(guard_);
    requested_model_ = who_.model.name;
    is_requested_ = true;
    request.agent = agent_;
    request.messages = kept_.view(std::move(messages), who_.operation);
  }
  return ask_fitted(std::move(request));
}

void turn_port::close_model_call(const operation_id& id, std::optional<fault> failed, const model_usage& usage) {
  end_model_call(id, std::move(failed), usage, then::turn_goes_on);
}

void turn_port::close_last_model_call(const operation_id& id, std::optional<fault> failed, const model_usage& usage) {
  end_model_call(id, std::move(failed), usage, who_.is_sub_agent ? then::turn_goes_on : then::turn_ends);
}

void turn_port::end_model_call(const operation_id& id, std::optional<fault> failed, const model_usage& usage,
                               then next) {
  commands::close_model_call step;
  auto& what = step.what;
  what.call = id;
  what.turn = who_.tree->turn();
  what.is_last = next == then::turn_ends;
  what.used = {who_.scope, who_.owner.id, who_.agent.name, {}, usage};
  {
    const std::lock_guard lock(guard_);
    now_.model_wait.clear();
    what.used.model = requested_model_.empty() ? who_.model.name : requested_model_;
    open_call_.reset();
    what.used.usage = usage_less(usage, std::exchange(counted_, {}));
  }
  if (what.used.usage != model_usage{}) {
    auto news_text = model_used(id, what.used.model, what.used.usage);
    what.reported = agent_runtime::event_of(who_, news_text.type, std::move(news_text.data));
  }
  what.end.evidence = proof::connection_closed;
  if (failed) {
    what.end.as = status::failed;
    what.end.error = records::operation_error{failed->code, failed->detail};
  }
  if (!failed || usage != model_usage{}) what.end.result = turn_result({}, usage, 0);
  runtime_->core.execute({std::move(step), [tree = who_.tree](const closed_model_call& sum) {
                            if (sum.tree.calls > 0) tree->note(sum.tree);
                          }});
}

records::message_record turn_port::answer_message(const assistant_message& what, const model_usage& usage) const {
  records::message_record m;
  m.id = message_id::fresh();
  m.scope = who_.scope;
  m.role = records::message_role::assistant;
  m.turn = who_.operation;
  m.aside = who_.is_sub_agent;
  m.text = what.text;
  m.interrupted = what.interrupted;
  m.usage = usage;
  return m;
}

void turn_port::store_answer(const assistant_message& what, const std::vector<actors::tool_traits>& traits,
                             const model_usage& usage, actors::answer<result<std::vector<operation_id>>> done) {
  if (runtime_->core.is_low()) return done(tl::unexpected(low_on_space()));
  {
    const std::lock_guard lock(guard_);
    now_.tool_calls += what.calls.size();
  }
  commands::store_answer step;
  step.message = answer_message(what, usage);
  std::vector<operation_id> ids;
  for (std::size_t i = 0; i < what.calls.size(); ++i) {
    records::call_record call;
    call.position = static_cast<std::uint32_t>(i);
    call.call = what.calls[i].call;
    call.name = what.calls[i].name;
    call.input = what.calls[i].input;
    create_order order;
    order.by = agent_runtime::acting_for(who_.owner);
    order.kind = kind::tool_call;
    order.parent = who_.operation;
    order.name = what.calls[i].name;
    order.title = what.calls[i].name;
    order.start = start_when::later;
    order.kind_data = call_block(what.calls[i], traits[i].exclusive, traits[i].timeout, traits[i].approval_rule);
    order.call = std::move(call);
    ids.push_back(operation_id::fresh());
    expect_call(ids.back(), call_of::tool);
    step.calls.push_back({ids.back(), std::move(order)});
  }
  if (!what.calls.empty()) step.results = message_id::fresh();
  runtime_->core.execute({std::move(step), [self = shared_from_this(), ids = std::move(ids),
                                            done = std::move(done)](const std::vector<operation_id>& refused) {
                            for (const auto& id : refused) self->runtime_->registry.drop(id);
                            done(ids);
                          }});
}

void turn_port::begin_call(const operation_id& call, actors::answer<bool> done) {
  runtime_->core.execute({commands::begin_call{call}, std::move(done)});
}

records::call_outcome turn_port::outcome_of(const tool_result& what) const {
  return {what.ok, what.cancelled, bounded_result(what.result, most_result_bytes, what.ok)};
}

/// The end is recorded at once; the agent learns of it when its output was read.
void turn_port::close_call(const operation_id& call, const tool_result& what, actors::answer<tool_result> done) {
  if (!what.cancelled) return end_call(call, what, std::move(done));
  end_call(call, what, [self = shared_from_this(), call, done = std::move(done)](const tool_result& stands) {
    self->add_printed(call, stands, done);
  });
}

void turn_port::add_printed(const operation_id& call, const tool_result& what,
                            std::function<void(const tool_result&)> then) {
  if (what.ok || what.name != "exec" || !runtime_->output) return then(what);
  runtime_->background_reads->run([self = shared_from_this(), call, what, then = std::move(then)](store_reader& store) {
    auto fuller = what;
    if (const auto printed = printed_by(call, store, *self->runtime_->output)) {
      fuller.result = with_printed(what.result, *printed);
      const std::lock_guard lock(self->guard_);
      self->printed_[what.call] = fuller.result;
    }
    then(fuller);
  });
}

void turn_port::take_printed(tool_result& result) const {
  const std::lock_guard lock(guard_);
  if (const auto at = printed_.find(result.call); at != printed_.end() && !result.ok) result.result = at->second;
}

void turn_port::input_changed(const tool_call& what) {
  const std::lock_guard lock(guard_);
  changed_[what.call] = what.input;
}

void turn_port::take_changed(tool_result& result) const {
  const std::lock_guard lock(guard_);
  if (const auto at = changed_.find(result.call); at != changed_.end())
    result.result = with_changed_input(result.result, at->second);
}

void turn_port::end_call(const operation_id& call, const tool_result& what, actors::answer<tool_result> done) {
  own_outcome end;
  end.call = outcome_of(what);
  end.result = bounded_result(end.call->result, most_kept_with_call, what.ok);
  if (!what.ok) {
    end.as = status::failed;
    end.error = what.cancelled ? records::own_error(failure_code::error, "cancelled with its turn or its work")
                               : error_of_result(what.result);
  }
  if (const auto* tool = who_.tools.find(what.name); tool && tool->how == tool_definition::runs::mcp) {
    end.how = receipt::unconfirmed; // what the server does with the call is unknown
    end.evidence = proof::none;
  }
  auto stands = what;
  stands.result = end.call->result;
  runtime_->core.execute(
      {commands::end_local{call, std::move(end)},
       [texts = runtime_->texts, stands = std::move(stands), done = std::move(done)](bool has_this_end) {
         auto result = stands;
         if (!has_this_end && !stands.cancelled) {
           result.ok = false;
           result.cancelled = true;
           result.result = texts->cancelled();
         }
         done(std::move(result));
       }});
}

/// The stop must not wait for a disk: what was printed is read while the command dies.
void turn_port::time_out_call(const operation_id& call, const tool_result& what, actors::answer<tool_result> done) {
  runtime_->core.execute({commands::stop_local{{call}, stop_cause::timeout, outcome_of(what)},
                          [self = shared_from_this(), call, what, done = std::move(done)](commands::nothing) {
                            self->add_printed(call, what, done);
                          }});
}

} // namespace quell::controller::turns
