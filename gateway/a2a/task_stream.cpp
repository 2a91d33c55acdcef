// Follows a turn on the thread of the streams, and after its end waits for the proof of its stop.
#include "gateway/a2a/task_stream.hpp"

#include <algorithm>

#include "gateway/event_stream.hpp"
#include "protocol/utf8.hpp"

namespace quell::controller::http::a2a {

namespace {

using nlohmann::json;

json data_of(const rendered_event& event) {
  const auto envelope = json::parse(*event.json, nullptr, false);
  return envelope.is_object() ? envelope.value("data", json()) : json();
}

/// The member `offset` of a text event: the code points before its text.
std::uint64_t offset_of(const rendered_event& event) { return value_at<std::uint64_t>(data_of(event), "offset"); }

/// The words about its stop in the event of a turn that is being stopped.
stop_facts stop_of(const rendered_event& event) {
  const auto data = data_of(event);
  const auto stop = data.is_object() ? data.value("stop", json()) : json();
  stop_facts facts;
  facts.cause = parse_name<stop_cause>(value_at<std::string>(stop, "cause")).value_or(stop_cause::cancel);
  if (const auto id = cancel_id::parse(value_at<std::string>(stop, "cancel"))) facts.cancel = *id;
  facts.reason = value_at<std::string>(stop, "reason");
  return facts;
}

struct followed_task {
  events_request events;
  std::uint64_t after = 0;
  operation_id id;
  served_agent agent;
  std::shared_ptr<task_updates> updates;
};

/// Returns when the turn has ended, or there is nobody to tell.
awaitable<> follow_turn(thread_context& here, const followed_task& what, stream_writer& into) {
  const auto now = co_await find_row(here, what.id);
  if (!now || is_terminal(now->hot.now)) co_return; // its end is not among the later events
  auto watcher = here.hub.watch(what.events.filter, false);
  watcher->shows_live = true;
  stream_manner manner;
  manner.until_end = what.id;
  manner.as_frame = [to = what.updates](const rendered_event& event) { return to->update(event); };
  event_stream events(here, what.events, {what.after}, std::move(watcher), into, std::move(manner));
  co_await events.run();
}

/// Writes the last frames as soon as the task is over.
awaitable<> finish_task(thread_context& here, const followed_task& what, stream_writer& into) {
  auto wake = std::make_shared<signal>(*here.io);
  into.wake_on_close(wake);
  std::shared_ptr<void> ticket;
  while (!into.closed() && !here.stopping) {
    const auto facts = co_await find_task(here, what.id, what.agent);
    if (!facts) co_return;
    if (is_over(status_of(*facts).state)) {
      auto frames = what.updates->last(*facts);
      co_await into.write(std::move(frames));
      co_return;
    }
    if (!ticket && facts->stop && facts->stop->cancel) {
      ticket = here.hub.watch(*facts->stop->cancel, wake);
      continue; // it can have settled between the two
    }
    const bool woken = co_await wake->wait_until(std::chrono::steady_clock::now() + here.options.comment_interval);
    if (!woken) co_await into.write(": still here\n\n");
  }
}

awaitable<> follow(thread_context& here, followed_task what, stream_writer& into) {
  ++here.event_streams;
  const std::shared_ptr<void> counted(nullptr, [&here](void*) { --here.event_streams; });
  co_await follow_turn(here, what, into);
  co_await finish_task(here, what, into);
}

} // namespace

std::string task_updates::update(const rendered_event& event) {
  if (event.record.operation == facts_.id && event.record.type == event_type::operation_started) {
    facts_.now = status::running;
    facts_.at = event.record.at;
    return wrap_(status_update(facts_));
  }
  if (event.record.operation == facts_.id && event.record.type == event_type::operation_cancelling) {
    facts_.now = status::cancelling;
    facts_.at = event.record.at;
    facts_.stop = stop_of(event);
    return wrap_(status_update(facts_));
  }
  if (event.record.operation == facts_.id && event.record.type == event_type::turn_resumed)
    return replaced_from(offset_of(event));
  if (event.record.operation == facts_.id && event.record.type == event_type::text_delta) offset_ = offset_of(event);
  return frame(event);
}

/// Text that the task had when it was read comes again if its event is newer: that part is left out.
std::string task_updates::on_text(const std::string& text) {
  const auto length = code_points(shown_);
  const auto known = offset_ < length ? length - offset_ : 0;
  const std::string fresh(without_characters(text, known));
  if (fresh.empty()) return {};
  const bool is_first = shown_.empty();
  shown_ += fresh;
  auto update = artifact_update(facts_, fresh, artifact_part::appended);
  if (is_first) update["artifactUpdate"]["append"] = false;
  return wrap_(update);
}

/// A resumed turn writes its text anew from here.
std::string task_updates::replaced_from(std::uint64_t offset) {
  const auto kept = bytes_of_characters(shown_, offset);
  if (kept == shown_.size()) return {};
  shown_.resize(kept);
  auto update = artifact_update(facts_, shown_, artifact_part::whole);
  update["artifactUpdate"]["lastChunk"] = false;
  return wrap_(update);
}

std::string task_updates::on_approval(event_type type, const json& data) {
  const auto question = data.value("question", json());
  if (type == event_type::approval_required && value_at<std::string>(question, "asked_by") == "agent") {
    const auto id = value_at<std::string>(question, "id");
    if (asks(id)) return {}; // the task was read behind this event
    facts_.asks.push_back(
        {id, words_of_question(value_at<std::string>(question, "message"), question.value("form", json()))});
    return wrap_(status_update(facts_));
  }
  if (type == event_type::approval_resolved && question.is_string() && asks(question.get<std::string>())) {
    std::erase_if(facts_.asks, [&](const caller_question& one) { return question == one.question; });
    return wrap_(status_update(facts_));
  }
  const auto words =
      type == event_type::approval_required
          ? "a call of " + value_at<std::string>(data, "name", "a tool") + " waits for a human's decision"
          : std::string("a human has decided about a call");
  return wrap_(working_update(facts_, words, {{std::string(text_of(type)), data}}));
}

bool task_updates::asks(const std::string& question) const {
  return std::any_of(facts_.asks.begin(), facts_.asks.end(),
                     [&](const caller_question& one) { return one.question == question; });
}

std::string task_updates::last(const task_facts& over) const {
  // A lagging or resumed stream can have shown something else than the answer: then the answer replaces it.
  std::string frames;
  if (over.text != shown_ && !over.text.empty())
    frames += wrap_(artifact_update(over, over.text, artifact_part::whole));
  return frames + wrap_(status_update(over));
}

response streamed_task(exchange& x, const served_agent& agent, task_facts facts, std::uint64_t after, as_frame wrap,
                       std::shared_ptr<void> held) {
  response answer;
  answer.content_type = "text/event-stream";
  answer.body = wrap({{"task", task_json(facts)}});
  if (is_over(status_of(facts).state)) {
    answer.stream = [](thread_context&, stream_writer&) -> awaitable<> { co_return; };
    return answer;
  }
  followed_task what;
  what.id = facts.id;
  what.agent = agent;
  what.after = after;
  what.events.who = x.share_key();
  what.events.filter.below = facts.id;
  what.updates = std::make_shared<task_updates>(std::move(facts), std::move(wrap));
  answer.stream = [what = std::move(what), held = std::move(held)](thread_context& here, stream_writer& into) {
    return follow(here, what, into);
  };
  return answer;
}

} // namespace quell::controller::http::a2a
