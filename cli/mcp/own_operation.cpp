// The external operation that this server is.
#include "cli/mcp/own_operation.hpp"

#include <algorithm>

#include "cli/fields.hpp"
#include "cli/mcp/words.hpp"
#include "protocol/failure_code.hpp"

namespace quell::cli::mcp {
namespace {

constexpr milliseconds long_poll{25'000};
constexpr milliseconds listen_allowance{10'000};
constexpr milliseconds answer_within{10'000};
constexpr milliseconds check_within{1'000};

} // namespace

own_operation::own_operation(api& controller, json body, milliseconds lease, callbacks c)
    : api_(controller), body_(std::move(body)), id_(text_of(body_, "id")), lease_(lease), tell_(std::move(c)) {}

own_operation::~own_operation() {
  hush();
  api_.loop().abandon(call_);
  api_.loop().abandon(check_call_);
  api_.loop().forget(timer_);
  api_.loop().forget(bound_);
}

void own_operation::hush() {
  auto& loop = api_.loop();
  for (auto* transfer : {&beat_call_, &listen_call_}) loop.abandon(std::exchange(*transfer, 0));
  for (auto* timer : {&beat_timer_, &listen_timer_}) loop.forget(std::exchange(*timer, 0));
}

void own_operation::begin() { enrol(); }

void own_operation::has_controller_answered() {
  contact_.contact();
  if (!lost_) return;
  lost_.reset();
  tell_.contact(std::nullopt);
}

void own_operation::lost_contact(const problem& p) {
  const bool is_news = !lost_;
  lost_ = p;
  if (p.status == 0) api_.find_again();
  if (is_news) tell_.contact(p);
}

milliseconds own_operation::pause() {
  return contact_.lost(std::chrono::steady_clock::now()).value_or(milliseconds{2000});
}

void own_operation::enrol() {
  call_ = api_.call("POST", "/v1/operations", body_, answer_within, [this](answer<json> a) {
    call_ = 0;
    if (!a) {
      const auto& p = a.error();
      may_exist_ = may_exist_ || (p.status == 0 && p.sent);
      if (!may_pass(p)) {
        phase_ = phase::over;
        over_ = p.detail;
        return tell_.refused(p);
      }
      lost_contact(p);
      timer_ = api_.loop().after(pause(), [this] { enrol(); });
      return;
    }
    may_exist_ = true;
    phase_ = phase::live;
    has_controller_answered();
    const auto status = text_of(*a, "status");
    // A create whose answer was lost can have been stopped since.
    if (status == "completed" || status == "failed" || status == "cancelled") return take_end(*a, {});
    beat_timer_ = api_.loop().after(lease_ / 3, [this] { beat(); });
    listen();
    tell_.registered();
  });
}

void own_operation::beat() {
  beat_timer_ = 0;
  const auto bound = std::max(lease_ / 2, milliseconds{1000});
  beat_call_ = api_.call("POST", "/v1/operations/" + id_ + "/heartbeat", json::object(), bound, [this](answer<json> a) {
    beat_call_ = 0;
    if (!a && is_end(a.error())) return;
    if (!a) lost_contact(a.error());
    if (a) {
      has_controller_answered();
      if (const auto& cancel = member(*a, "cancel"); cancel.is_object())
        return take_stop(text_of(cancel, "cause"), text_of(cancel, "reason"));
    }
    const auto next = a ? lease_ / 3 : std::min(pause(), lease_ / 3);
    beat_timer_ = api_.loop().after(next, [this] { beat(); });
  });
}

void own_operation::listen() {
  listen_timer_ = 0;
  const auto path = "/v1/operations/" + id_ + "/signal?wait_ms=" + std::to_string(long_poll.count());
  listen_call_ = api_.call("GET", path, nullptr, long_poll + listen_allowance, [this](answer<json> a) {
    listen_call_ = 0;
    if (!a && is_end(a.error())) return;
    milliseconds rest{0};
    if (a) {
      has_controller_answered();
      if (const auto& cancel = member(*a, "cancel"); cancel.is_object())
        return take_stop(text_of(cancel, "cause"), text_of(cancel, "reason"));
      if (!a->is_null()) rest = milliseconds{1000}; // an answer that we do not know: pause before the next request
    } else {
      lost_contact(a.error());
      rest = pause();
    }
    listen_timer_ = api_.loop().after(rest, [this] { listen(); });
  });
}

bool own_operation::is_end(const problem& p) {
  if (!has_code(p, error_code::already_terminal) && !has_code(p, error_code::operation_not_found)) return false;
  const auto document = json::parse(p.document, nullptr, false);
  take_end(member(document, "operation"), p.detail);
  return true;
}

void own_operation::take_end(const json& operation, const std::string& detail) {
  if (phase_ != phase::live) return;
  const auto& stop = member(operation, "stop");
  if (text_of(operation, "status") == "cancelled") {
    // The controller settled it without our confirmation: contact was lost for too long.
    take_stop(text_of(stop, "cause"), text_of(stop, "reason"));
    return;
  }
  hush();
  phase_ = phase::over;
  const auto code = text_of(member(operation, "error"), "code");
  std::string why = code == name_of(failure_code::heartbeat_lost)
                        ? "the controller heard nothing from it for " + std::to_string(lease_.count() / 1000) +
                              " s, so what it had started was cancelled"
                    : operation.is_object()
                        ? "it is " + text_of(operation, "status") + (code.empty() ? "" : " (" + code + ")")
                        : detail;
  over_ = clipped("The operation of this MCP server has ended: " + why +
                  ". Nothing can be started or looked at here any more: restart the MCP server.");
  tell_.ended(*over_);
}

void own_operation::take_stop(const std::string& cause, const std::string& reason) {
  if (phase_ != phase::live) return;
  hush();
  phase_ = phase::stopping;
  over_ = stopped_text(cause, reason);
  tell_.stopped(*over_);
}

void own_operation::check(std::function<void()> next) {
  if (phase_ != phase::live) return next();
  check_call_ = api_.call("POST", "/v1/operations/" + id_ + "/heartbeat", json::object(), check_within,
                          [this, next = std::move(next)](answer<json> a) {
                            check_call_ = 0;
                            const auto& cancel = a ? member(*a, "cancel") : body_;
                            if (a && cancel.is_object()) take_stop(text_of(cancel, "cause"), text_of(cancel, "reason"));
                            if (!a) is_end(a.error());
                            next();
                          });
}

void own_operation::end(milliseconds allowance, std::function<void(bool)> done) {
  done_ = std::move(done);
  hush();
  api_.loop().abandon(std::exchange(call_, 0));
  api_.loop().forget(std::exchange(timer_, 0));
  // An operation that certainly never reached a controller needs no final report.
  if (phase_ == phase::over || (phase_ == phase::registering && !may_exist_ && lost_)) return done_(true);
  bound_ = api_.loop().after(allowance, [this] {
    api_.loop().abandon(std::exchange(call_, 0));
    api_.loop().forget(std::exchange(timer_, 0));
    done_(false);
  });
  say_last_word();
}

void own_operation::say_last_word() {
  const char* word = phase_ == phase::stopping ? "stopped" : "complete";
  call_ =
      api_.call("POST", "/v1/operations/" + id_ + "/" + word, json::object(), answer_within, [this](answer<json> a) {
        call_ = 0;
        if (!a && may_pass(a.error())) {
          if (a.error().status == 0) api_.find_again();
          timer_ = api_.loop().after(std::min(pause(), milliseconds{500}), [this] { say_last_word(); });
          return;
        }
        // Any other refusal means that the operation is over at the controller, or never existed.
        phase_ = phase::over;
        api_.loop().forget(std::exchange(bound_, 0));
        done_(true);
      });
}

} // namespace quell::cli::mcp
