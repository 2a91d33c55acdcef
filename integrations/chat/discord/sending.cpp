// Carries actions from the send queue to Discord's REST API and outcomes back, within its rate limits.
#include "integrations/chat/discord/bot.hpp"
#include "integrations/chat/discord/json_access.hpp"

namespace quell::integrations::chat::discord {
namespace {

/// A message was made, or was there already: its id and its text.
done_how made_message(const std::string& body) {
  const auto message = nlohmann::json::parse(body, nullptr, false);
  done_how how;
  how.message = text_of(message, "id");
  if (!is_snowflake(how.message)) how.message.clear();
  how.text = text_of(message, "content");
  return how;
}

} // namespace

void bot::send_due(boot_time now) {
  const auto actions = outbox_.due(now);
  // Stored before they are performed: after a crash the next process knows what was in flight.
  notes_.keep(outbox_.changes(), now, [this] { return to_keep(); });
  for (const auto& a : actions) {
    auto request = request_of(a, nonce_ + "." + std::to_string(a.key));
    if (!request) {
      outbox_.done(a.number, {.what = outcome::refused}, now);
    } else if (const auto wait = limits_.wait(request->route, now); wait.count() > 0) {
      outbox_.done(a.number, {.what = outcome::later, .wait = wait, .is_for_everything = limits_.is_shut(now)}, now);
    } else {
      send(a.number, std::move(*request), a.what == action_kind::post);
    }
  }
}

void bot::send(std::uint64_t number, rest_request request, bool is_post) {
  auto to = request_to(request);
  loop_->fetch(std::move(to), [this, number, request = std::move(request), is_post](const web_response& answer) {
    sent(number, request, is_post, answer);
  });
}

void bot::sent(std::uint64_t number, const rest_request& request, bool is_post, const web_response& answer) {
  const auto now = web_loop::now();
  done_how how;
  if (answer.what == web_end::not_sent) {
    how.what = outcome::not_sent;
  } else if (answer.what == web_end::unknown) {
    how.what = outcome::unknown;
  } else {
    const auto limit = limits_.answered(request.route, answer.status, answer.headers, answer.body, now);
    if (answer.status == 429)
      how = {.what = outcome::later, .wait = limit.wait, .is_for_everything = limit.is_for_everything};
    else if (answer.is_good())
      how = is_post ? made_message(answer.body) : done_how{};
    else if (answer.status >= 500) // a post can have arrived; its nonce makes a repetition harmless
      how.what = is_post ? outcome::unknown : outcome::not_sent;
    else
      how.what = outcome::refused;
  }
  if (how.what == outcome::refused)
    log("discord refuses " + request.method + " " + request.path + " with " + std::to_string(answer.status));
  outbox_.done(number, how, now);
}

} // namespace quell::integrations::chat::discord
