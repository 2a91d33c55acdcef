// Finds one header in the head of an HTTP request.
#include "worker/relay_gate.hpp"

#include <algorithm>

#include "protocol/blanks.hpp"

namespace quell::worker {
namespace {

bool same_letters(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

/// The token from the head's `Authorization: Bearer`, if present.
std::string_view bearer_of(std::string_view head) {
  constexpr std::string_view scheme = "Bearer ";
  for (std::size_t at = head.find("\r\n"); at != std::string_view::npos && at + 2 < head.size();) {
    const auto next = head.find("\r\n", at + 2);
    const auto line = head.substr(at + 2, next == std::string_view::npos ? next : next - at - 2);
    at = next;
    const auto colon = line.find(':');
    if (colon == std::string_view::npos || !same_letters(line.substr(0, colon), "Authorization")) continue;
    const auto value = trimmed(line.substr(colon + 1));
    if (!same_letters(value.substr(0, scheme.size()), scheme)) return {};
    return trimmed(value.substr(scheme.size()));
  }
  return {};
}

} // namespace

void relay_gate::task_begins(const operation_id& operation, std::string token) {
  if (!token.empty()) tokens_[operation] = std::move(token);
}

relay_gate::classification relay_gate::classify(std::string_view request_head) const {
  const auto end = request_head.find("\r\n\r\n");
  if (end == std::string_view::npos) return {request_head.size() < most_head_bytes ? verdict::wait : verdict::refuse};
  const auto task = task_of(bearer_of(request_head.substr(0, end + 2)));
  return task ? classification{verdict::admit, *task} : classification{verdict::refuse};
}

// Compares every byte of every token, so that the time does not reveal where a guess went wrong.
std::optional<operation_id> relay_gate::task_of(std::string_view token) const {
  std::optional<operation_id> found;
  for (const auto& [operation, own] : tokens_) {
    unsigned differences = own.size() == token.size() ? 0 : 1;
    for (std::size_t i = 0; i < std::min(own.size(), token.size()); ++i)
      differences |= static_cast<unsigned char>(own[i]) ^ static_cast<unsigned char>(token[i]);
    if (differences == 0 && !token.empty()) found = operation;
  }
  return found;
}

std::string relay_gate::refusal() {
  const std::string body =
      R"({"type":"urn:quell:error:forbidden","title":"The token may not do this","status":403,"code":"forbidden",)"
      R"("detail":"this address is for the tasks of one worker: the first request of a connection carries the )"
      R"(QUELL_TOKEN of a task that runs there; others use the URL of quelld itself","errors":[],"request":null})";
  return "HTTP/1.1 403 Forbidden\r\nContent-Type: application/problem+json\r\nConnection: close\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\n\r\n" + body;
}

} // namespace quell::worker
