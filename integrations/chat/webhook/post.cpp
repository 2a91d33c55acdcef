// Builds the headers of Standard Webhooks.
#include "integrations/chat/webhook/post.hpp"

#include "integrations/chat/webhook/signature.hpp"

namespace quell::integrations::chat {
namespace {

constexpr milliseconds answer_timeout{15'000};
constexpr std::size_t most_answer = 64 << 10;

} // namespace

web_request signed_post(const outgoing_webhook& to, const std::string& id, std::chrono::sys_seconds now,
                        const std::string& body) {
  const auto timestamp = std::to_string(now.time_since_epoch().count());
  web_request r;
  r.url = to.url;
  r.headers = {"Content-Type: application/json", "User-Agent: quell/0.1", "webhook-id: " + id,
               "webhook-timestamp: " + timestamp,
               "webhook-signature: " + webhook_signature(to.key, id, timestamp, body)};
  r.body = body;
  r.timeout = answer_timeout;
  r.ca_file = to.ca_file;
  r.most_body = most_answer;
  return r;
}

} // namespace quell::integrations::chat
