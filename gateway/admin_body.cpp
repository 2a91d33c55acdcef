// Checks the bodies of requests about workers, tokens and PTYs.
#include "gateway/admin_body.hpp"

#include <algorithm>
#include <chrono>

#include "gateway/body.hpp"
#include "protocol/socket.hpp"

namespace quell::controller::http {

namespace {

/// A worker's name is part of paths, so it has the alphabet of one scope segment.
bool is_worker_name(const std::string& name) {
  constexpr std::string_view extra = "._-";
  return name != "." && name != ".." && std::all_of(name.begin(), name.end(), [&](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  extra.find(c) != std::string_view::npos;
         });
}

} // namespace

tl::expected<enrol_request, problem> read_enrol(std::string_view text) {
  auto body = parse_body(text);
  if (!body) return tl::unexpected(body.error());
  std::vector<field_error> errors;
  body_reader fields(*body, "", errors);
  const auto name = fields.text("name", 1, 64);
  if (!name && !fields.has("name")) fields.complain("name", "is missing");
  if (name && !is_worker_name(*name)) fields.complain("name", "may hold only A-Z a-z 0-9 . _ - and not be . or ..");
  enrol_request request;
  request.key = fields.text("key", 1, 64);
  if (request.key && !is_public_key(*request.key))
    fields.complain("key", "is not a public key: give the 40 characters that `quell-worker keygen` printed");
  request.labels = fields.labels("labels");
  fields.finish();
  if (!errors.empty()) return tl::unexpected(from_errors(std::move(errors)));
  request.name = *name;
  return request;
}

tl::expected<drain_request, problem> read_drain(std::string_view text) {
  auto body = parse_body(text);
  if (!body) return tl::unexpected(body.error());
  std::vector<field_error> errors;
  body_reader fields(*body, "", errors);
  drain_request request;
  request.reason = fields.text("reason", 0, max_reason).value_or("");
  request.deadline = fields.duration("deadline_ms");
  if (fields.flag("cancel").value_or(false)) request.tasks = worker_tasks::are_cancelled;
  fields.finish();
  if (!errors.empty()) return tl::unexpected(from_errors(std::move(errors)));
  return request;
}

tl::expected<void, problem> read_nothing(std::string_view text) {
  auto body = parse_body(text);
  if (!body) return tl::unexpected(body.error());
  std::vector<field_error> errors;
  body_reader(*body, "", errors).finish();
  if (!errors.empty()) return tl::unexpected(from_errors(std::move(errors)));
  return {};
}

tl::expected<token_request, problem> read_token(std::string_view text) {
  auto body = parse_body(text);
  if (!body) return tl::unexpected(body.error());
  std::vector<field_error> errors;
  body_reader fields(*body, "", errors);
  token_request request;
  request.id = fields.id<token_id>("id");
  const auto name = fields.text("name", 1, 128);
  if (!name && !fields.has("name")) fields.complain("name", "is missing");
  const auto role = fields.word<quell::role>("role");
  if (!role && !fields.has("role")) fields.complain("role", "is missing: observer, chat, operator or admin");
  if (role == quell::role::task)
    fields.complain("role", "task is minted by quell for each task; choose observer, chat, operator or admin");
  request.scope = fields.scope("scope");
  request.owner = fields.person("owner");
  request.expires_at = fields.instant("expires_at");
  // In milliseconds on both sides: in nanoseconds an instant after 2262 would overflow into the past.
  if (request.expires_at && *request.expires_at <= std::chrono::floor<milliseconds>(std::chrono::system_clock::now()))
    fields.complain("expires_at", "lies in the past: such a token would never be valid");
  fields.finish();
  if (!errors.empty()) return tl::unexpected(from_errors(std::move(errors)));
  request.name = *name;
  request.role = *role;
  return request;
}

tl::expected<window_size, problem> read_resize(std::string_view text) {
  auto body = parse_body(text);
  if (!body) return tl::unexpected(body.error());
  std::vector<field_error> errors;
  body_reader fields(*body, "", errors);
  const auto rows = fields.number("rows", 1, 10'000), columns = fields.number("columns", 1, 10'000);
  if (!rows && !fields.has("rows")) fields.complain("rows", "is missing");
  if (!columns && !fields.has("columns")) fields.complain("columns", "is missing");
  fields.finish();
  if (!errors.empty()) return tl::unexpected(from_errors(std::move(errors)));
  return window_size{static_cast<std::uint16_t>(*rows), static_cast<std::uint16_t>(*columns)};
}

} // namespace quell::controller::http
