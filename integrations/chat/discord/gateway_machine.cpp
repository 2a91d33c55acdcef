// Opcodes, heartbeats, and reconnection.
#include "integrations/chat/discord/gateway_machine.hpp"

#include <algorithm>

#include "integrations/chat/discord/gateway_words.hpp"
#include "integrations/chat/discord/json_access.hpp"

namespace quell::integrations::chat::discord {
namespace {

using nlohmann::json;
using std::chrono::duration_cast;

constexpr milliseconds greeting_timeout{20'000}, entering_timeout{60'000}, first_backoff{1'000},
    longest_backoff{60'000}, least_interval{100}, most_interval{600'000};
/// A connection that ends sooner counts as a failure: a bot that is disconnected at once must not reconnect at once.
constexpr std::chrono::seconds settled_after{10};
/// Shortest interval between heartbeats that the server requests in addition to our own.
constexpr milliseconds least_between_beats{500};
/// After so many consecutive failures the session's own address counts as dead.
constexpr unsigned most_failures_of_session = 5;
constexpr std::uint16_t keeps_session = 4000;

milliseconds backoff(unsigned failures, double jitter) {
  if (failures == 0) return {};
  const auto whole = std::min(longest_backoff, first_backoff * (1 << std::min(failures - 1, 10U)));
  return milliseconds(static_cast<std::int64_t>(static_cast<double>(whole.count()) * (0.5 + jitter / 2)));
}

template <class T>
gateway_machine::effects only(T effect) {
  gateway_machine::effects all;
  all.emplace_back(std::move(effect));
  return all;
}

void append(gateway_machine::effects& to, gateway_machine::effects more) {
  std::move(more.begin(), more.end(), std::back_inserter(to));
}

} // namespace

gateway_machine::gateway_machine(std::string token, std::string address)
    : token_(std::move(token)), address_(std::move(address)) {}

gateway_machine::effects gateway_machine::start(boot_time now) { return begin(now); }

gateway_machine::effects gateway_machine::begin(boot_time now) {
  if (session_ && failures_ > most_failures_of_session) session_.reset();
  due_ = now + greeting_timeout;
  stage_ = stage::connecting;
  if (session_) return only(gateway_effects::connect{gateway_url(session_->url)});
  seq_ = 0;
  if (!address_.empty()) return only(gateway_effects::connect{gateway_url(address_)});
  stage_ = stage::asking;
  return only(gateway_effects::find_address{});
}

gateway_machine::effects gateway_machine::found_address(std::string url, boot_time now) {
  if (stage_ != stage::asking) return {};
  stage_ = stage::connecting;
  due_ = now + greeting_timeout;
  return only(gateway_effects::connect{gateway_url(url)});
}

gateway_machine::effects gateway_machine::no_address(std::string why, bool is_final, milliseconds wait, boot_time now,
                                                     double jitter) {
  if (stage_ != stage::asking) return {};
  return is_final ? over(std::move(why)) : dropped(std::move(why), wait, now, jitter);
}

gateway_machine::effects gateway_machine::connected(boot_time now) {
  if (stage_ != stage::connecting) return {};
  stage_ = stage::greeting;
  due_ = now + greeting_timeout;
  return {};
}

gateway_machine::effects gateway_machine::received(std::string_view text, boot_time now, double jitter) {
  if (stage_ != stage::greeting && stage_ != stage::entering && stage_ != stage::ready) return {};
  const auto frame = json::parse(text, nullptr, false);
  const auto& op = member_of(frame, "op");
  if (!op.is_number_integer())
    return hung_up("the gateway sent what is not a JSON object with an opcode", {}, now, jitter);
  const auto& data = member_of(frame, "d");
  switch (op.get<std::int64_t>()) {
  case 0: { // dispatch
    const auto& seq = member_of(frame, "s");
    if (seq.is_number_unsigned()) {
      if (seq.get<std::uint64_t>() <= seq_) return {}; // delivered before the disconnection
      seq_ = seq.get<std::uint64_t>();
    }
    const auto type = text_of(frame, "t");
    if (type == "READY") {
      session_ = {text_of(data, "session_id"), text_of(data, "resume_gateway_url")};
      if (session_->url.empty() || session_->id.empty()) session_.reset();
      own_id_ = text_of(member_of(data, "user"), "id");
      own_name_ = text_of(member_of(data, "user"), "username");
    }
    if (type == "READY" || type == "RESUMED") became_ready(now);
    if (is_listened_to(type)) return only(gateway_effects::dispatch{type, written(data)});
    return {};
  }
  case 1: // heartbeat request
    if (now - beaten_at_ < least_between_beats) return {};
    return beat(now);
  case 7: // reconnect request
    return hung_up("the gateway asked for a new connection", {}, now, jitter);
  case 9: { // invalid session
    const bool may_resume = data.is_boolean() && data.get<bool>();
    if (!may_resume) session_.reset();
    // "wait a random amount of time, between 1 and 5 seconds"
    const milliseconds wait(1'000 + static_cast<std::int64_t>(4'000 * jitter));
    return hung_up("the gateway refused the session", wait, now, jitter);
  }
  case 10: { // hello
    const auto& interval = member_of(data, "heartbeat_interval");
    if (stage_ != stage::greeting || !interval.is_number_integer())
      return hung_up("the gateway's hello makes no sense", {}, now, jitter);
    return greeted(interval.get<std::int64_t>(), now, jitter);
  }
  case 11: // heartbeat acknowledged
    is_answered_ = true;
    return {};
  default:
    return {};
  }
}

gateway_machine::effects gateway_machine::greeted(std::int64_t interval_ms, boot_time now, double jitter) {
  const auto interval =
      std::clamp(interval_ms, std::int64_t{least_interval.count()}, std::int64_t{most_interval.count()});
  interval_ = milliseconds(interval);
  // The first heartbeat comes after a random part of the interval, so that bots that reconnect together do not beat
  // together.
  beat_at_ = now + std::chrono::nanoseconds(static_cast<std::int64_t>(static_cast<double>(interval_.count()) * jitter));
  is_answered_ = true;
  stage_ = stage::entering;
  due_ = now + entering_timeout;
  return only(gateway_effects::send{entrance()});
}

std::string gateway_machine::entrance() const {
  if (session_) return written({{"op", 6}, {"d", {{"token", token_}, {"session_id", session_->id}, {"seq", seq_}}}});
  const json names = {{"os", "linux"}, {"browser", "quell"}, {"device", "quell"}};
  return written({{"op", 2}, {"d", {{"token", token_}, {"intents", gateway_intents}, {"properties", names}}}});
}

void gateway_machine::became_ready(boot_time now) {
  stage_ = stage::ready;
  ready_at_ = now;
}

gateway_machine::effects gateway_machine::beat(boot_time now) {
  beaten_at_ = now;
  beat_at_ = now + interval_;
  is_answered_ = false;
  return only(gateway_effects::send{written({{"op", 1}, {"d", seq_ == 0 ? json() : json(seq_)}})});
}

gateway_machine::effects gateway_machine::lost(std::uint16_t code, std::string why, boot_time now, double jitter) {
  if (stage_ == stage::idle || stage_ == stage::waiting || stage_ == stage::over) return {};
  if (const char* words = final_close(code)) return over(words);
  if (forgets_session(code)) session_.reset();
  if (code != 0)
    why = "the gateway closed the connection with " + std::to_string(code) + (why.empty() ? "" : ": ") + why;
  return dropped(std::move(why), {}, now, jitter);
}

gateway_machine::effects gateway_machine::dropped(std::string why, milliseconds least, boot_time now, double jitter) {
  const bool was_settled = stage_ == stage::ready && now - ready_at_ >= settled_after;
  failures_ = was_settled ? 0 : failures_ + 1;
  stage_ = stage::waiting;
  why_ = std::move(why);
  due_ = now + std::max(least, backoff(failures_, jitter));
  if (due_ <= now) return begin(now);
  return {};
}

gateway_machine::effects gateway_machine::hung_up(std::string why, milliseconds least, boot_time now, double jitter) {
  auto all = only(gateway_effects::hang_up{keeps_session});
  append(all, dropped(std::move(why), least, now, jitter));
  return all;
}

gateway_machine::effects gateway_machine::over(std::string why) {
  stage_ = stage::over;
  session_.reset();
  why_ = std::move(why);
  return only(gateway_effects::gave_up{why_});
}

gateway_machine::effects gateway_machine::tick(boot_time now, double jitter) {
  if (!next_at() || now < *next_at()) return {};
  if (stage_ == stage::waiting) return begin(now);
  if (stage_ == stage::asking) return dropped("Discord did not say where its gateway is", {}, now, jitter);
  if (stage_ != stage::ready && now >= due_)
    return hung_up(stage_ == stage::connecting ? "the gateway cannot be reached" : "the gateway does not answer", {},
                   now, jitter);
  // A connection without answers is dead, even if no packet says so.
  if (!is_answered_) return hung_up("the gateway does not answer heartbeats", {}, now, jitter);
  return beat(now);
}

std::optional<boot_time> gateway_machine::next_at() const {
  switch (stage_) {
  case stage::idle:
  case stage::over:
    return std::nullopt;
  case stage::waiting:
  case stage::asking:
  case stage::connecting:
  case stage::greeting:
    return due_;
  case stage::entering:
    return std::min(due_, beat_at_);
  case stage::ready:
    return beat_at_;
  }
  return std::nullopt;
}

std::string gateway_machine::state(boot_time now) const {
  switch (stage_) {
  case stage::idle:
    return "not started";
  case stage::waiting: {
    const auto left = duration_cast<std::chrono::seconds>(std::max(std::chrono::nanoseconds{}, due_ - now)).count() + 1;
    return "retrying in " + std::to_string(left) + " s: " + why_;
  }
  case stage::asking:
  case stage::connecting:
  case stage::greeting:
  case stage::entering:
    return why_.empty() ? "connecting" : "connecting again: " + why_;
  case stage::ready:
    return "connected as " + (own_name_.empty() ? "?" : own_name_);
  case stage::over:
    return "gave up: " + why_;
  }
  return {};
}

} // namespace quell::integrations::chat::discord
