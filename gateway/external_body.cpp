// Checks requests from owners of external operations, field by field. A result is kept as sent, with its nulls.
#include "gateway/external_body.hpp"

#include <algorithm>

#include "gateway/body.hpp"
#include "gateway/operation_body.hpp"
#include "gateway/query_reader.hpp"

namespace quell::controller::http {

namespace {

constexpr std::size_t max_error_characters = 4096;

bool is_plain_code(const std::string& code) {
  return std::all_of(code.begin(), code.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.';
  });
}

void read_words(nlohmann::json object, owner_report& report, const std::string& pointer,
                std::vector<field_error>& errors) {
  if (report.what == owner_word::complete && object.contains("result")) {
    if (!object["result"].is_null())
      report.result = object["result"].dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    object.erase("result");
  }
  drop_nulls(object);
  body_reader fields(object, pointer, errors);
  if (report.what == owner_word::fail) {
    const auto code = fields.text("code", 1, 64);
    if (code && !is_plain_code(*code)) fields.complain("code", "has only letters, digits and . _ -");
    report.error = records::operation_error{code.value_or(std::string(name_of(failure_code::error))),
                                            fields.text("message", 0, max_error_characters).value_or("")};
  }
  fields.finish();
}

tl::expected<owner_report, problem> read_item(nlohmann::json item) {
  std::vector<field_error> errors;
  if (!item.is_object()) return tl::unexpected(from_errors({{error_code::invalid_field, "", "must be a JSON object"}}));
  owner_report report;
  int words = 0;
  const auto take = [&](const char* name, owner_word what) {
    const auto at = item.find(name);
    if (at == item.end() || at->is_null()) return;
    ++words;
    report.what = what;
    if (at->is_object())
      read_words(std::move(*at), report, std::string("/") + name, errors);
    else
      errors.push_back({error_code::invalid_field, std::string("/") + name, "must be an object"});
    *at = true;
  };
  take("complete", owner_word::complete);
  take("fail", owner_word::fail);
  take("stopped", owner_word::stopped);
  drop_nulls(item);
  body_reader fields(item, "", errors);
  const auto before_id = errors.size();
  const auto id = fields.id<operation_id>("id");
  if (!id && errors.size() == before_id) fields.complain("id", "is missing: name the operation");
  for (const char* name : {"complete", "fail", "stopped"}) (void)fields.take(name);
  if (words != 1) errors.push_back({error_code::invalid_field, "", "needs exactly one of complete, fail and stopped"});
  fields.finish();
  if (!errors.empty()) return tl::unexpected(from_errors(std::move(errors)));
  report.operation = *id;
  return report;
}

} // namespace

tl::expected<std::vector<nlohmann::json>, problem> take_batch(nlohmann::json& body, const char* name) {
  std::vector<field_error> errors;
  body_reader fields(body, "", errors);
  (void)fields.take(name);
  fields.finish();
  const auto at = body.find(name);
  if (at == body.end())
    fields.complain(name, "is missing: give a list of 1 to 1000 items");
  else if (!at->is_array())
    fields.complain(name, "must be a list");
  else if (at->empty() || at->size() > max_batch)
    fields.complain(name, "has " + std::to_string(at->size()) + " items; 1 to 1000 are taken at once");
  if (!errors.empty()) return tl::unexpected(from_errors(std::move(errors)));
  std::vector<nlohmann::json> items;
  items.reserve(at->size());
  for (auto& item : *at) items.push_back(std::move(item));
  return items;
}

tl::expected<owner_report, problem> read_report(owner_word what, const operation_id& id, std::string_view body) {
  auto parsed = parse_body(body, null_members::kept);
  if (!parsed) return tl::unexpected(parsed.error());
  std::vector<field_error> errors;
  owner_report report;
  report.operation = id;
  report.what = what;
  read_words(std::move(*parsed), report, "", errors);
  if (!errors.empty()) return tl::unexpected(from_errors(std::move(errors)));
  return report;
}

tl::expected<std::vector<tl::expected<owner_report, problem>>, problem> read_reports(std::string_view body) {
  auto parsed = parse_body(body, null_members::kept);
  if (!parsed) return tl::unexpected(parsed.error());
  auto items = take_batch(*parsed, "items");
  if (!items) return tl::unexpected(items.error());
  std::vector<tl::expected<owner_report, problem>> reports;
  reports.reserve(items->size());
  for (auto& item : *items) reports.push_back(read_item(std::move(item)));
  return reports;
}

tl::expected<renewal_order, problem> read_heartbeat(std::string_view body) {
  const auto parsed = parse_body(body);
  if (!parsed) return tl::unexpected(parsed.error());
  std::vector<field_error> errors;
  body_reader fields(*parsed, "", errors);
  renewal_order order;
  order.session = fields.text("session", 1, 128);
  if (const auto* ids = fields.take("ids")) {
    if (!ids->is_array() || ids->size() > max_batch) {
      fields.complain("ids", "must be a list of at most 1000 ids; a session says it for all of a runtime");
    } else {
      for (std::size_t i = 0; i < ids->size(); ++i) {
        const auto& id = (*ids)[i];
        const auto known = id.is_string() ? operation_id::parse(id.get_ref<const std::string&>()) : std::nullopt;
        if (known)
          order.operations.push_back(*known);
        else
          fields.complain("ids/" + std::to_string(i), "must be a UUIDv7: 36 characters, lower case",
                          error_code::bad_id);
      }
    }
  } else if (!order.session && errors.empty()) {
    errors.push_back({error_code::invalid_field, "", "needs ids or a session"});
  }
  if (const auto text = fields.text("cursor", 1, 64)) {
    const auto cursor = parse_cursor(*text);
    if (cursor)
      order.after = cursor->seq;
    else
      fields.complain("cursor", "is not one that quell gave: use next_cursor of an earlier answer");
  }
  fields.finish();
  if (!errors.empty()) return tl::unexpected(from_errors(std::move(errors)));
  return order;
}

} // namespace quell::controller::http
