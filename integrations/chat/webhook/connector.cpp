// Checks the signature, hands the message over, answers with the decision.
//
// Has no thread of its own: a call is checked on the thread where it arrives, and the host's reply is returned
// directly. A repeated delivery submits the same message again, which the host recognises by its id, also after a
// restart.
#include "integrations/chat/webhook/connector.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>

#include "integrations/chat/webhook/message.hpp"
#include "integrations/chat/webhook/signature.hpp"

namespace quell::integrations::chat {
namespace {

constexpr std::size_t most_client_id = 128, most_remembered = 100'000;
constexpr unsigned accepted = 202;

std::chrono::sys_seconds now() { return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()); }

/// Recent deliveries by signed id. The same id with a different body is not a retry but a forgery.
class deliveries {
 public:
  bool fits(const std::string& id, std::string_view body, std::chrono::sys_seconds at) {
    const std::lock_guard lock(guard_);
    if (seen_.size() >= most_remembered)
      std::erase_if(seen_, [&](const auto& one) { return one.second.at + 2 * signature_tolerance < at; });
    if (seen_.size() >= most_remembered) return true; // the host still recognises the message by its id
    const auto [it, is_new] = seen_.try_emplace(id, entry{std::hash<std::string_view>{}(body), at});
    return is_new || it->second.body == std::hash<std::string_view>{}(body);
  }

 private:
  struct entry {
    std::size_t body;
    std::chrono::sys_seconds at;
  };
  std::mutex guard_;
  std::map<std::string, entry> seen_;
};

class incoming final : public connector {
 public:
  incoming(std::vector<incoming_webhook> from, host& at) : from_(std::move(from)), host_(at) {}

  std::string_view name() const override { return "webhook"; }
  void on_event(const event&) override {}
  void stop() override {}
  std::string state() const override {
    return std::to_string(from_.size()) + (from_.size() == 1 ? " sender is known" : " senders are known");
  }

  void called(web_call call, std::function<void(web_answer)> done) override {
    auto message = read_call(call);
    if (!message) {
      web_answer refusal{.refused = message.error()};
      if (has_code(message.error(), error_code::method_not_allowed)) refusal.headers = {{"Allow", "POST"}};
      return done(std::move(refusal));
    }
    host_.say(std::move(*message), [done = std::move(done)](result<decision> what) {
      if (!what) return done({.refused = what.error()});
      done({what->what == decided::turn ? accepted : 200U, what->json, "application/json"});
    });
  }

 private:
  result<incoming_message> read_call(const web_call& call) {
    const auto sender = std::find_if(from_.begin(), from_.end(), [&](const auto& w) { return w.name == call.path; });
    if (sender == from_.end())
      return failure(error_code::not_found, "no [[incoming]] has the name \"" + call.path.substr(0, 64) + "\"");
    if (call.method != "POST") return failure(error_code::method_not_allowed, "a delivery is a POST");
    const auto id = call.header("webhook-id"), timestamp = call.header("webhook-timestamp");
    if (id.empty() || id.size() > most_client_id ||
        !is_signed(sender->key, id, timestamp, call.body, call.header("webhook-signature")))
      return failure(error_code::unauthenticated,
                     "webhook-id, webhook-timestamp and webhook-signature must be those of Standard Webhooks, made "
                     "with the secret of this sender");
    if (!is_recent(timestamp, now()))
      return failure(error_code::unauthenticated, "webhook-timestamp lies more than five minutes from our time");
    if (!delivered_.fits(sender->name + " " + id, call.body, now()))
      return failure(error_code::id_conflict, "another delivery had this webhook-id");
    auto message = read_incoming(call.body, sender->scope, id);
    if (message) message->agent = sender->agent;
    return message;
  }

  const std::vector<incoming_webhook> from_;
  host& host_;
  deliveries delivered_;
};

} // namespace

std::unique_ptr<connector> start_incoming(std::vector<incoming_webhook> from, host& at) {
  return std::make_unique<incoming>(std::move(from), at);
}

} // namespace quell::integrations::chat
