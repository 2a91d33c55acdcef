// The additional fields in an external operation's row: a small JSON object.
#include <nlohmann/json.hpp>

#include "controller/external_operations.hpp"
#include "controller/ledger/sentences.hpp"

namespace quell::controller {

std::string external_block(const external_spec& spec) {
  return nlohmann::json{{"lease_ms", spec.lease.count()},
                        {"session", spec.session.empty() ? nlohmann::json() : nlohmann::json(spec.session)},
                        {"start", spec.starts_later ? "later" : "now"}}
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

external_spec read_external_block(const std::string& block) {
  external_spec spec;
  if (block.empty()) return spec;
  const auto object = nlohmann::json::parse(block, nullptr, false);
  if (!object.is_object()) return spec;
  if (const auto at = object.find("lease_ms"); at != object.end() && at->is_number_integer())
    spec.lease = milliseconds(at->get<std::int64_t>());
  if (const auto at = object.find("session"); at != object.end() && at->is_string())
    spec.session = at->get<std::string>();
  if (const auto at = object.find("start"); at != object.end()) spec.starts_later = *at == "later";
  return spec;
}

std::string late_report_text(const owner_report& report, wall_time at) {
  constexpr std::size_t most_result_bytes = 64 * 1024;
  nlohmann::json late{{"reported_at", live::instant_text(at)}};
  late["report"] = report.what == owner_word::complete ? "complete"
                   : report.what == owner_word::fail   ? "fail"
                                                       : "stopped";
  if (!report.result.empty() && report.result.size() <= most_result_bytes)
    if (auto result = nlohmann::json::parse(report.result, nullptr, false); !result.is_discarded())
      late["result"] = std::move(result);
  if (report.error) late["error"] = {{"code", report.error->code}, {"message", report.error->message}};
  return late.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

} // namespace quell::controller
