// Posts a message and follows its turn.
#include "cli/turn_stream.hpp"

#include <algorithm>
#include <array>

#include "cli/fields.hpp"
#include "cli/turn_view.hpp"
#include "protocol/id.hpp"

namespace quell::cli {

using nlohmann::json;

namespace {

/// The controller writes a comment every 15 s: after this much silence the connection is considered dead.
constexpr milliseconds longest_silence{45'000};
constexpr milliseconds cancel_timeout{30'000};
/// How long the events can lag behind an end that was detected otherwise.
constexpr milliseconds events_lag{2'000};
/// How long to wait for the end of our own cancel after its turn has ended.
constexpr milliseconds report_wait{10'000};
constexpr std::size_t most_refusal = 64 * 1024;

bool is_transient(const problem& p) {
  if (has_code(p, error_code::too_many_operations)) return false; // that takes longer than any person waits
  return p.status == 0 || p.status == 429 || p.status == 502 || p.status == 503 || p.status == 504;
}

} // namespace

bool is_later_event(const std::string& id, const std::string& than) {
  return id.size() != than.size() ? id.size() > than.size() : id > than;
}

turn_stream::turn_stream(api& controller, json message, milliseconds reconnect, callbacks c)
    : api_(controller), message_(std::move(message)), callbacks_(std::move(c)), contact_(reconnect) {
  message_["id"] = "cli:" + operation_id::fresh().text();
  message_.emplace("on_disconnect", "continue");
  owns_ = message_["on_disconnect"] == "cancel";
}

turn_stream::~turn_stream() {
  auto& loop = api_.loop();
  loop.abandon(transfer_);
  for (const auto call : calls_) loop.abandon(call);
  for (const auto timer : {retry_, silence_, end_, cancel_retry_}) loop.forget(timer);
}

event_loop::handle turn_stream::keep(event_loop::handle call) {
  calls_.push_back(call);
  return call;
}

void turn_stream::start() { open(); }

void turn_stream::follow(const std::string& turn) {
  turn_ = turn;
  last_id_ = "0";
  decided_ = may_exist_ = true;
  open();
}

/// The owner of a turn says its message again: that gives it the turn back if the controller was restarted.
void turn_stream::open() {
  const bool watches = decided_ && !owns_;
  auto request = watches ? api_.request("GET", "/v1/operations/" + turn_ +
                                                   "/events?after=" + (last_id_.empty() ? std::string("0") : last_id_))
                         : api_.request("POST", "/v1/messages");
  if (!watches) {
    request.body = to_line(message_);
    request.headers.emplace_back("Content-Type: application/json");
  }
  request.timeout = milliseconds{0};
  request.headers.emplace_back("Accept: text/event-stream");
  parser_ = std::make_unique<event_parser>([this](const stream_event& e) { take(e); });
  refusal_.clear();
  refused_ = false;
  http_sink sink;
  sink.head = [this](const http_head& head) {
    refused_ = head.status >= 300;
    may_exist_ = may_exist_ || !refused_;
    if (!refused_) contacted();
  };
  sink.body = [this](std::string_view bytes) {
    if (refused_) {
      if (refusal_.size() < most_refusal) refusal_.append(bytes);
      return true;
    }
    watch_silence();
    parser_->feed(bytes);
    return true;
  };
  sink.end = [this](const http_end& end) {
    transfer_ = 0;
    closed(end);
  };
  transfer_ = api_.loop().start(std::move(request), std::move(sink));
  watch_silence();
}

void turn_stream::contacted() {
  const bool was_lost = contact_.is_lost();
  contact_.contact();
  if (was_lost && callbacks_.contact) callbacks_.contact("");
}

void turn_stream::take(const stream_event& e) {
  const auto data = json::parse(e.data, nullptr, false);
  if (!data.is_object() || over_) return;
  if (!e.id.empty()) {
    if (owns_ && !last_id_.empty() && !is_later_event(e.id, last_id_)) return; // told before
    last_id_ = e.id;
  }
  const auto type = event_type_of(e.type).value_or(event_type::unlisted);
  if (type == event_type::message_decided) {
    if (decided_) return;
    decided_ = true;
    turn_ = text_of(member(data, "turn"), "id");
    if (callbacks_.decided) callbacks_.decided(data);
    if (!pending_cancel_.is_null() && !turn_.empty()) {
      pending_cancel_["operation"] = turn_;
      send_cancel(std::exchange(pending_cancel_, json()));
    }
    return;
  }
  if (callbacks_.event) callbacks_.event(data);
  if (!turn_.empty() && ends_operation(type) && text_of(data, "operation") == turn_) finish(member(data, "data"));
}

void turn_stream::closed(const http_end& end) {
  api_.loop().forget(silence_);
  if (over_ || ending_) return;
  if (decided_ && turn_.empty()) return finish(json()); // a message without a turn: its stream is all there is
  if (end.error.empty() && !refused_)                   // the controller ends, or this client lagged
    return again(
        local_problem(local_code::unreachable, "contact with the controller at " + api_.where().url + " was lost"));
  const auto p = api_.problem_of(end, refusal_);
  may_exist_ = may_exist_ || (end.error.empty() ? end.head.status >= 500 : end.sent);
  if (p.status == 410 && last_id_ != "0") { // the missed events are gone; the operation has their text
    last_id_ = "0";
    look();
    return open();
  }
  if (!is_transient(p)) return give_up(p);
  // Never answered and certainly never received: report it at once, unless an earlier attempt was received.
  if (p.status == 0 && !p.sent && !may_exist_) return give_up(p);
  again(p);
}

void turn_stream::again(const problem& p) {
  const bool first = !contact_.is_lost();
  const auto pause = contact_.lost(std::chrono::steady_clock::now());
  if (!pause) return give_up(p);
  if (first && callbacks_.contact)
    callbacks_.contact((p.status == 0 || p.status == 502 || p.status == 504
                            ? "no contact with the controller at " + api_.where().url
                            : p.detail) +
                       "; trying again");
  retry_ = api_.loop().after(*pause, [this] {
    api_.find_again();
    if (decided_) look();
    open();
  });
}

void turn_stream::watch_silence() {
  auto& loop = api_.loop();
  loop.forget(silence_);
  silence_ = loop.after(longest_silence, [this] {
    api_.loop().abandon(transfer_);
    transfer_ = 0;
    again(local_problem(local_code::unreachable, "the controller at " + api_.where().url + " is silent"));
  });
}

/// Checks whether the turn has ended. The events should report it; if they do not within a while, this does.
void turn_stream::look() {
  keep(api_.call("GET", "/v1/operations/" + turn_, nullptr, cancel_timeout, [this](answer<json> a) {
    if (!a || over_ || ending_) return;
    const auto status = text_of(*a, "status");
    if (status != "completed" && status != "failed" && status != "cancelled") return;
    api_.loop().forget(end_);
    end_ = api_.loop().after(events_lag, [this, operation = *a] { finish(operation); });
  }));
}

void turn_stream::stop(const std::string& reason, std::optional<int> grace_ms) {
  if (over_) return;
  json body{{"id", cancel_id::fresh().text()}, {"reason", reason}, {"wait", "fenced"}};
  if (grace_ms) body["grace_ms"] = *grace_ms;
  if (!decided_) {
    pending_cancel_ = std::move(body);
    return;
  }
  if (turn_.empty()) return;
  body["operation"] = turn_;
  send_cancel(std::move(body));
}

void turn_stream::send_cancel(json body) {
  sent_cancel_ = text_of(body, "id");
  keep(api_.call("POST", "/v1/cancels", body, cancel_timeout, [this, body](answer<json> a) {
    if (over_) return;
    if (a) { // if the turn has ended, the cancel's report is on its way, and newer than this
      if (!ending_ && has_stopped_its_target(*a)) cancel_ = *a;
      if (callbacks_.stopping) callbacks_.stopping(*a);
      return;
    }
    if (ending_) return;
    if (!is_transient(a.error())) return give_up(a.error());
    // The stream notices the loss, too, and bounds it; this only retries.
    cancel_retry_ = api_.loop().after(milliseconds{300}, [this, body] {
      if (!over_) send_cancel(body);
    });
  }));
}

/// The turn has ended; if we stopped it, the stop's report comes first.
void turn_stream::finish(const json& operation) {
  if (over_ || ending_) return;
  ending_ = true;
  operation_ = operation;
  auto& loop = api_.loop();
  loop.forget(silence_);
  loop.forget(end_);
  loop.forget(retry_);
  // The turn can end before the stop is answered: the report is requested anyway.
  const auto cancel = cancel_.is_null() ? sent_cancel_ : text_of(cancel_, "id");
  if (cancel.empty()) {
    end_ = loop.after(milliseconds{0}, [this] { tell_end(); });
    return;
  }
  const auto path = "/v1/cancels/" + cancel + "?wait=settled&wait_ms=" + std::to_string(report_wait.count());
  end_ = loop.after(milliseconds{0}, [this, path] {
    keep(api_.call("GET", path, nullptr, report_wait * 2, [this](answer<json> a) {
      if (a && has_stopped_its_target(*a)) cancel_ = std::move(*a);
      end_ = api_.loop().after(milliseconds{0}, [this] { tell_end(); });
    }));
  });
}

void turn_stream::tell_end() {
  if (over_) return;
  over_ = true;
  api_.loop().abandon(transfer_);
  if (callbacks_.ended) callbacks_.ended(operation_);
}

void turn_stream::give_up(const problem& p) {
  if (over_ || ending_) return;
  over_ = true;
  auto& loop = api_.loop();
  loop.forget(silence_);
  loop.forget(retry_);
  // Not from inside the transfer that ends here: the owner can destroy this object.
  end_ = loop.after(milliseconds{0}, [this, p] {
    if (callbacks_.failed) callbacks_.failed(p);
  });
}

std::string login_name(const environment& env) {
  for (const char* name : {"USER", "LOGNAME"})
    if (const auto value = env(name)) return value->substr(0, 64);
  return "cli";
}

std::string conversation_scope(const std::optional<std::string>& flag, const connection_flags& where,
                               const environment& env) {
  if (flag) return *flag;
  if (const auto scope = default_scope(where, env)) return *scope;
  constexpr std::array hex{'0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F'};
  std::string segment;
  for (const char c : login_name(env)) { // as connectors do: every other byte as ~XX (SURFACE 1)
    const bool is_plain = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                          std::string_view("._-:@+=").find(c) != std::string_view::npos;
    const auto byte = static_cast<unsigned char>(c);
    if (is_plain && segment.size() < 120)
      segment += c;
    else if (segment.size() < 120)
      segment += std::string{'~', hex[byte >> 4], hex[byte & 15]};
  }
  if (segment == "." || segment == "..") segment = "cli";
  return "chat/" + segment;
}

json message_body(const std::string& scope, const std::string& text, const std::optional<std::string>& agent,
                  const environment& env, const std::optional<std::string>& during_turn) {
  json body{{"scope", scope}, {"text", text}, {"author", {{"id", login_name(env)}, {"name", login_name(env)}}}};
  if (agent) body["agent"] = *agent;
  if (during_turn) body["during_turn"] = *during_turn;
  return body;
}

} // namespace quell::cli
