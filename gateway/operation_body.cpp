// Checks the body of a create, field by field.
#include "gateway/operation_body.hpp"

#include <filesystem>

#include "gateway/body.hpp"
#include "gateway/external_body.hpp"
#include "gateway/task_body.hpp"
#include "protocol/utf8.hpp"

namespace quell::controller::http {

namespace {

constexpr std::uint64_t min_lease_ms = 1000;
constexpr milliseconds default_external_lease{30'000};

/// The default name, as in `ps`: the program without its directory.
std::string program_name(const task_spec& task) {
  if (task.command.empty()) return {};
  auto name = std::filesystem::path(task.command.front()).filename().string();
  if (name.empty()) name = task.command.front();
  return std::string(utf8_prefix(name, 128));
}

external_spec read_external(const nlohmann::json& object, std::vector<field_error>& errors) {
  external_spec spec;
  body_reader fields(object, "/external", errors);
  spec.lease = default_external_lease;
  if (const auto lease = fields.number("lease_ms", 0, max_lease_ms)) {
    spec.lease = milliseconds(static_cast<std::int64_t>(*lease));
    if (*lease > 0 && *lease < min_lease_ms) fields.complain("lease_ms", "must be 0 (none) or at least 1000");
  }
  spec.session = fields.text("session", 1, 128).value_or("");
  if (const auto start = fields.text("start", 1, 16)) {
    if (*start != "now" && *start != "later") fields.complain("start", "must be now or later");
    spec.start = *start == "later" ? start_when::later : start_when::now;
  }
  fields.finish();
  return spec;
}

tl::expected<create_order, problem> read_order(nlohmann::json body) {
  std::vector<field_error> errors;
  body_reader fields(body, "", errors);
  create_order order;
  order.id = fields.id<operation_id>("id");
  const auto before_kind = errors.size();
  const auto kind = fields.word<quell::kind>("kind");
  if (!kind && errors.size() == before_kind) fields.complain("kind", "is missing: say task or external");
  const bool is_external = kind == quell::kind::external;
  if (kind && !is_external && *kind != quell::kind::task)
    fields.complain("kind", "is made by quell itself; a client creates task or external");
  order.scope = fields.scope("scope");
  order.parent = fields.id<operation_id>("parent");
  const auto name = fields.text("name", 1, 128);
  order.title = fields.text("title", 0, 200).value_or("");
  order.labels = fields.labels("labels");
  order.owner = fields.person("owner");
  order.timeout = fields.duration("timeout_ms");
  order.grace = fields.duration("grace_ms");
  order.on_parent_end = fields.word<quell::on_parent_end>("on_parent_end").value_or(quell::on_parent_end::cancel);
  order.supersede = fields.text("supersede", 1, 128);
  order.as_of_seq = fields.number("as_of_seq", 0, max_seq);
  const auto* external = fields.object("external");
  if (external && kind == quell::kind::task) fields.complain("external", "belongs to kind external only");
  if (is_external) order.external = read_external(external ? *external : nlohmann::json::object(), errors);
  if (is_external && fields.has("task")) fields.complain("task", "belongs to kind task only");
  if (const auto* task = fields.object("task"); task && !is_external)
    order.task = read_task(*task, errors);
  else if (kind == quell::kind::task && !fields.has("task"))
    fields.complain("task/command", "is missing: give the program and its arguments as a list");
  fields.finish();
  if (!errors.empty()) return tl::unexpected(from_errors(std::move(errors)));
  order.kind = *kind;
  order.name = name.value_or(is_external ? std::string("external") : program_name(order.task));
  // Nobody can repeat a create whose id was not chosen, so it needs no fingerprint.
  if (!order.id) return order;
  // Without secrets: `seal_secrets` adds them with a key, so that no hash in the store can be brute-forced.
  if (order.task.secrets.empty()) {
    order.fingerprint = fingerprint_of(std::move(body), {"id"});
  } else {
    body["task"].erase("secrets");
    order.fingerprint = fingerprint_of(std::move(body), {"id"});
  }
  return order;
}

} // namespace

tl::expected<create_order, problem> read_create(std::string_view text) {
  auto parsed = parse_body(text);
  if (!parsed) return tl::unexpected(std::move(parsed.error()));
  return read_order(std::move(*parsed));
}

tl::expected<std::vector<tl::expected<create_order, problem>>, problem> read_creates(std::string_view text) {
  auto parsed = parse_body(text);
  if (!parsed) return tl::unexpected(parsed.error());
  auto items = take_batch(*parsed, "operations");
  if (!items) return tl::unexpected(items.error());
  std::vector<tl::expected<create_order, problem>> orders;
  orders.reserve(items->size());
  for (auto& item : *items) {
    drop_nulls(item);
    if (item.is_object())
      orders.push_back(read_order(std::move(item)));
    else
      orders.push_back(tl::unexpected(from_errors({{error_code::invalid_field, "", "must be a JSON object"}})));
  }
  return orders;
}

} // namespace quell::controller::http
