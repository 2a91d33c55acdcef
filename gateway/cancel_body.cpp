// Checks the bodies of cancels and resolves.
#include "gateway/cancel_body.hpp"

#include "gateway/body.hpp"

namespace quell::controller::http {

namespace {

void read_common(body_reader& fields, cancel_request& into) {
  into.order.id = fields.id<cancel_id>("id");
  into.order.reason = fields.text("reason", 0, max_reason).value_or("");
  into.order.by = fields.person("by");
  into.order.grace = fields.duration("grace_ms");
  into.order.up_to_seq = fields.number("up_to_seq", 0, max_seq);
  into.order.mode = fields.flag("dry_run").value_or(false) ? cancel_mode::dry_run : cancel_mode::stop;
  into.until.status = fields.word<cancel_status>("wait").value_or(into.until.status);
  into.until.longest =
      fields.duration("wait_ms", static_cast<std::uint64_t>(max_wait.count())).value_or(into.until.longest);
}

/// Reads the one target in the body.
void read_target(body_reader& fields, records::cancel_target& into, std::vector<field_error>& errors) {
  const auto before = errors.size();
  const auto operation = fields.id<operation_id>("operation");
  const auto scope = fields.scope("scope");
  const auto owner = fields.text("owner", 1, 128);
  const auto everything = fields.flag("everything");
  if (errors.size() != before) return;
  const bool by_scope = scope && !owner;
  const int targets = (operation ? 1 : 0) + (by_scope ? 1 : 0) + (owner ? 1 : 0) + (everything == true ? 1 : 0);
  if (targets != 1 || everything == false || (scope && (operation || everything))) {
    errors.push_back(
        {error_code::no_target, "",
         "must name exactly one target: operation, scope, owner (with or without scope), or everything: true"});
    return;
  }
  if (operation) into = records::target_operation{*operation};
  if (by_scope) into = records::target_scope{*scope};
  if (owner) into = records::target_owner{*owner, scope};
  if (everything) into = records::target_everything{};
}

} // namespace

tl::expected<cancel_request, problem> read_cancel(std::string_view text) {
  auto body = parse_body(text);
  if (!body) return tl::unexpected(body.error());
  std::vector<field_error> errors;
  body_reader fields(*body, "", errors);
  cancel_request request;
  read_common(fields, request);
  read_target(fields, request.order.target, errors);
  fields.finish();
  if (!errors.empty()) return tl::unexpected(from_errors(std::move(errors)));
  request.order.fingerprint = fingerprint_of(std::move(*body), {"id", "wait", "wait_ms"});
  return request;
}

tl::expected<cancel_request, problem> read_cancel_of(const operation_id& id, std::string_view text) {
  auto body = parse_body(text);
  if (!body) return tl::unexpected(body.error());
  std::vector<field_error> errors;
  body_reader fields(*body, "", errors);
  cancel_request request;
  read_common(fields, request);
  fields.finish();
  if (!errors.empty()) return tl::unexpected(from_errors(std::move(errors)));
  request.order.target = records::target_operation{id};
  request.order.if_unknown = unknown_id::is_refused;
  (*body)["operation"] = id.text(); // so that both forms of the request have one fingerprint
  request.order.fingerprint = fingerprint_of(std::move(*body), {"id", "wait", "wait_ms"});
  return request;
}

tl::expected<std::string, problem> read_resolve(std::string_view text) {
  auto body = parse_body(text);
  if (!body) return tl::unexpected(body.error());
  std::vector<field_error> errors;
  body_reader fields(*body, "", errors);
  const auto before = errors.size();
  const auto declare = fields.text("declare", 0, 64);
  if (errors.size() == before && declare != "dead") fields.complain("declare", "must be \"dead\"");
  const auto reason = fields.text("reason", 1, max_reason);
  if (!reason && !fields.has("reason")) fields.complain("reason", "is missing: say how you know that it is dead");
  fields.finish();
  if (!errors.empty()) return tl::unexpected(from_errors(std::move(errors)));
  return *reason;
}

} // namespace quell::controller::http
