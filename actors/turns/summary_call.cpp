// A stop can come at any step: before the operation is there, while the model writes, or while the summary is stored.
// The step that ends the operation then reports `closed`; the ledger decides whether the stop or the summary came
// first.
#include "actors/turns/summary_call.hpp"

#include <algorithm>
#include <utility>

#include "actors/turns/context_fit.hpp"
#include "actors/turns/expected_request.hpp"
#include "actors/turns/given_up_attempt.hpp"
#include "actors/turns/json_text.hpp"
#include "actors/turns/turn_json.hpp"
#include "controller/commands/close_model_call.hpp"
#include "controller/commands/command_request.hpp"
#include "controller/commands/create_local.hpp"
#include "controller/commands/open_model_call.hpp"
#include "controller/commands/publish_event.hpp"
#include "controller/commands/store_summary.hpp"
#include "protocol/failure_code.hpp"
#include "protocol/utf8.hpp"

namespace quell::controller::turns {
namespace {

constexpr std::size_t least_summary_tokens = 200, most_summary_tokens = 4'096, most_summary_bytes = 64 << 10;

/// It writes plain text: no thinking, no schema, no tools.
integrations::model_settings plain(integrations::model_settings model, std::size_t tokens) {
  model.answer = {};
  model.max_tokens = static_cast<std::uint32_t>(std::min<std::size_t>(model.max_tokens, tokens));
  for (auto& other : model.fallbacks) other = plain(std::move(other), tokens);
  return model;
}

/// The tokens that the context leaves to the transcript.
std::size_t transcript_room(const integrations::model_settings& model, std::size_t tokens) {
  return model.context > tokens ? model.context - tokens : 0;
}

/// Those of them that the messages may take, without the words around them.
std::size_t reading_room(const integrations::model_settings& model, std::size_t tokens) {
  const auto fixed = tokens + estimated_tokens(summary_instructions(tokens)) + 64;
  return model.context > fixed ? model.context - fixed : 0;
}

/// The ends of a text that is too long all the same.
std::string cut_to(const std::string& text, std::size_t tokens) {
  if (estimated_tokens(text) <= tokens) return text;
  const auto half = tokens; // bytes; two of them are well below `tokens` tokens for ASCII, and below it for others
  if (text.size() <= 2 * half) return text;
  const auto end = character_boundary(text, text.size() - half);
  return std::string(utf8_prefix(text, half)) + "\n(… left out: too long …)\n" + text.substr(end);
}

} // namespace

std::size_t summary_tokens(const integrations::model_settings& model, std::size_t room) {
  return std::min<std::size_t>(model.max_tokens, std::clamp(room / 5, least_summary_tokens, most_summary_tokens));
}

std::size_t summary_reading_room(const integrations::model_settings& model, std::size_t room) {
  return reading_room(model, summary_tokens(model, room));
}

summary_call::summary_call(std::shared_ptr<agent_runtime> runtime, summary_order order, actors::step_poster post)
    : runtime_(std::move(runtime)), order_(std::move(order)), post_(std::move(post)),
      requested_model_(order_.model.name), chain_(plain(order_.model, order_.tokens)) {}

/// The actor that ran it has died: nobody else ends the operation.
summary_call::~summary_call() {
  if (is_there_ && !is_ended_) end_failed(failure_of(failure_code::interrupted, "nobody waits for it any more"), {});
}

void summary_call::start(std::function<void(const outcome<created>&)> accepted,
                         std::function<void(const model_usage&)> used, std::function<void(summary_end)> done) {
  accepted_ = std::move(accepted);
  used_ = std::move(used);
  done_ = std::move(done);
  create_order order;
  order.by = agent_runtime::acting_for(order_.owner);
  order.kind = kind::model_call;
  order.parent = order_.parent;
  if (!order_.parent) order.scope = order_.scope;
  order.as_of_seq = order_.as_of;
  order.name = order_.model.name;
  order.title = summary_title;
  order.kind_data = expected_use_of(order_.agent, order_.model, estimated_tokens(order_.plan.to_read));
  // Before the core knows the call, so that a stop always finds who runs it.
  runtime_->registry.add_call(order_.id, order_.stopped_by, call_of::model);
  auto opened = [self = shared_from_this()](const outcome<created>& made) {
    if (!made) self->runtime_->registry.drop(self->order_.id);
    self->is_there_ = made.has_value();
    self->post_([self, made] { self->opened(made); });
  };
  const auto& tree = order_.tree;
  if (tree)
    return runtime_->core.execute(
        {commands::open_model_call{std::move(order), order_.id, tree->turn(), tree->limits()}, std::move(opened)});
  runtime_->core.execute({commands::create_local{std::move(order), order_.id}, std::move(opened)});
}

void summary_call::opened(const outcome<created>& made) {
  if (accepted_) accepted_(made);
  if (!made) return ended({{}, made.error().error}, true);
  if (is_stopped_) return end_failed(failure_of(failure_code::error, "not asked: it was stopped"), {});
  phase_ = phase::asking;
  ask();
}

/// For the model that is asked now. The plan was made for the first one; another can read less.
std::string summary_call::transcript() {
  const auto& model = chain_.now();
  auto readable = fit_into(order_.plan.to_read, reading_room(model, order_.tokens));
  unread_ = readable.left_out;
  return cut_to(transcript_of(readable.messages), transcript_room(model, order_.tokens));
}

void summary_call::ask() {
  model_request request;
  request.instructions = summary_instructions(order_.tokens);
  request.scope = order_.scope.text();
  request.tenant = order_.tenant;
  auto text = transcript();
  const auto model = chain_.with_fallbacks([&, tokens = estimated_tokens(text)](const auto& other) {
    return tokens <= transcript_room(other, order_.tokens);
  });
  request.messages.emplace_back(user_message{std::move(text)});
  progress_ = {};
  const std::lock_guard lock(runtime_->models_guard);
  if (!runtime_->models) return; // the process ends
  // Weak: this object holds the call.
  call_ = runtime_->models->ask(model, std::move(request),
                                [weak = weak_from_this(), post = post_](const model_event& event) {
                                  post([weak, event] {
                                    if (const auto self = weak.lock()) self->take(event);
                                  });
                                });
}

void summary_call::take(const model_event& event) {
  if (phase_ != phase::asking) return;
  progress_.note(event, runtime_->core.now().boot);
  if (const auto* text = std::get_if<model_events::text>(&event)) {
    if (text_.size() + text->delta.size() <= most_summary_bytes) text_ += text->delta;
  } else if (const auto* other = std::get_if<model_events::fell_back>(&event)) {
    fell_back(*other);
  } else if (const auto* again = std::get_if<model_events::retrying>(&event)) {
    count(requested_model_, again->spent);
  } else if (const auto* end = std::get_if<model_events::finished>(&event)) {
    const bool was_cut = end->why == model_events::stop::length;
    const auto usage = with_earlier(end->usage);
    if (was_cut || end->why == model_events::stop::end) return finished(usage, was_cut);
    end_failed(failure_of(failure_code::model_refused, "the model would not write a summary"), usage);
  } else if (const auto* failed = std::get_if<model_events::failed>(&event)) {
    if (!fall_back(*failed)) end_failed(failed->why, with_earlier(failed->usage));
  }
}

/// Asks the next model, whose context is smaller, with less. False if another model cannot answer, or there is none.
bool summary_call::fall_back(const model_events::failed& failed) {
  chain_.note_end(progress_);
  const auto to_next = chain_.fall_back(failed, progress_);
  if (!to_next) return false;
  fell_back(*to_next);
  before_ += failed.usage;
  call_.reset();
  ask();
  return true;
}

void summary_call::fell_back(const model_events::fell_back& other) {
  requested_model_ = other.to;
  count(other.from, other.spent);
  text_.clear();
}

/// By an attempt that is given up.
void summary_call::count(const std::string& model, const model_usage& spent) {
  if (spent == model_usage{}) return;
  counted_ += spent;
  const auto used = used_by(model, spent);
  count_attempt(*runtime_, used, usage_event(used), order_.tree);
}

used_by_call summary_call::used_by(const std::string& model, const model_usage& used) const {
  return {order_.scope, order_.owner.id, order_.agent, model, used};
}

records::event_record summary_call::usage_event(const used_by_call& used) const {
  auto news = model_used(order_.id, used.model, used.usage);
  return event(news.type, std::move(news.data));
}

model_usage summary_call::with_earlier(model_usage usage) const {
  usage += before_;
  return usage;
}

void summary_call::finished(const model_usage& usage, bool was_cut) {
  auto summary = order_.plan.summary;
  summary.unread += unread_;
  summary.text = std::move(text_);
  while (!summary.text.empty() && static_cast<unsigned char>(summary.text.back()) <= ' ') summary.text.pop_back();
  if (summary.text.empty()) return end_failed(failure_of(failure_code::error, "the model wrote no summary"), usage);
  if (was_cut) summary.text += " …";
  phase_ = phase::ending;
  call_.reset();
  if (used_) used_(usage);
  commands::store_summary step;
  step.call = end_with(usage);
  step.call.end.result = turn_result(summary.text, usage, 0);
  step.summary = row_of(summary, order_.scope, order_.sub_agent);
  step.event = event(event_type::history_compacted, json_text({{"operation", order_.id.text()},
                                                               {"up_to", summary.up_to},
                                                               {"messages", summary.messages},
                                                               {"unread", summary.unread}}));
  is_ended_ = true;
  runtime_->core.execute(
      {std::move(step), [self = shared_from_this(), summary = std::move(summary)](const closed_model_call& closed) {
         self->note(closed);
         self->post_([self, summary, is_its_end = closed.has_this_end] { self->ended({summary, {}}, is_its_end); });
       }});
}

void summary_call::end_failed(fault why, const model_usage& usage) {
  phase_ = phase::ending;
  call_.reset();
  if (used_) used_(usage);
  commands::close_model_call step{end_with(usage)};
  auto& end = step.what.end;
  end.as = status::failed;
  end.error = records::operation_error{why.code, why.detail};
  if (usage == model_usage{}) end.result.clear();
  is_ended_ = true;
  const auto self = weak_from_this().lock(); // none in its destruction
  if (!self) return runtime_->core.execute({std::move(step), {}});
  runtime_->core.execute(
      {std::move(step), [self, why = std::move(why)](const closed_model_call& closed) {
         self->note(closed);
         self->post_([self, why, is_its_end = closed.has_this_end] { self->ended({{}, why}, is_its_end); });
       }});
}

/// If a stop came first, its signal is on the way to whoever runs this call.
void summary_call::ended(summary_end end, bool is_its_end) {
  phase_ = phase::over;
  used_ = nullptr;
  accepted_ = nullptr;
  const auto closed = std::exchange(closed_, nullptr);
  const auto done = std::exchange(done_, nullptr);
  if (closed) closed();
  if (done && !is_stopped_ && is_its_end) done(std::move(end));
}

void summary_call::stop(std::function<void()> closed) {
  is_stopped_ = true;
  if (phase_ == phase::over) {
    if (closed) closed();
    return;
  }
  if (closed) closed_ = std::move(closed);                                  // a second stop can come without one
  if (phase_ == phase::asking && call_) cut(std::exchange(call_, nullptr)); // else the step on its way ends it
}

void summary_call::cut(std::unique_ptr<integrations::model_call> call) {
  phase_ = phase::ending;
  auto& running = *call;
  running.cancel([self = shared_from_this(), held = std::shared_ptr<integrations::model_call>(std::move(call))] {
    self->post_([self, held] {
      self->end_failed(failure_of(failure_code::error, "the stream was closed"), self->with_earlier(held->used()));
    });
  });
}

/// Publishes the usage by itself where it belongs to no turn, whose sum would go with it.
model_call_end summary_call::end_with(const model_usage& usage) {
  model_call_end what;
  what.call = order_.id;
  what.turn = order_.tree ? order_.tree->turn() : operation_id::fresh(); // one that has no account
  what.end.evidence = proof::connection_closed;
  what.end.result = turn_result({}, usage, 0);
  what.used = used_by(requested_model_, usage_less(usage, counted_));
  if (what.used.usage == model_usage{}) return what;
  if (order_.tree)
    what.reported = usage_event(what.used);
  else
    runtime_->core.execute({commands::publish_event{usage_event(what.used)}, {}});
  return what;
}

void summary_call::note(const closed_model_call& closed) const {
  if (order_.tree && closed.tree.calls > 0) order_.tree->note(closed.tree);
}

records::event_record summary_call::event(event_type type, std::string data) const {
  records::event_record e;
  e.type = type;
  e.scope = order_.scope;
  e.operation = order_.parent.value_or(order_.id);
  e.root = order_.root.value_or(order_.id);
  e.data = std::move(data);
  return e;
}

} // namespace quell::controller::turns
