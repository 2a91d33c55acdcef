// The additional fields in an external operation's row, in one fixed form of a small JSON object, as other rows of the
// core have it; and the text of a late report.
#include <string_view>

#include "controller/external_operations.hpp"
#include "controller/json/fixed_form.hpp"
#include "controller/json/json_writer.hpp"

namespace quell::controller {

namespace {

using http::take_number;
using http::take_part;

constexpr std::string_view block_before_lease = R"({"lease_ms":)", block_before_session = R"(,"session":)",
                           block_no_session = "null", block_starts_now = R"(,"start":"now"})",
                           block_starts_later = R"(,"start":"later"})";

/// Takes one escape behind its backslash. Characters above ASCII are stored as they are, without escapes.
bool take_escape(std::string_view& text, std::string& to) {
  constexpr std::string_view letters = R"("\/bfnrt)", meanings = "\"\\/\b\f\n\r\t";
  if (take_part(text, "u")) {
    std::string_view digits = text.substr(0, 4);
    unsigned code = 0;
    if (digits.size() < 4 || !take_number(digits, code, 16) || !digits.empty() || code >= 0x80) return false;
    to += static_cast<char>(code);
    text.remove_prefix(4);
    return true;
  }
  const auto at = text.empty() ? std::string_view::npos : letters.find(text.front());
  if (at == std::string_view::npos) return false;
  to += meanings[at];
  text.remove_prefix(1);
  return true;
}

bool take_string(std::string_view& text, std::string& to) {
  if (!take_part(text, "\"")) return false;
  while (!text.empty()) {
    const char c = text.front();
    text.remove_prefix(1);
    if (c == '"') return true;
    if (c != '\\')
      to += c;
    else if (!take_escape(text, to))
      return false;
  }
  return false;
}

} // namespace

std::string external_block(const external_spec& spec) {
  http::json_writer to;
  to.open_object().field("lease_ms", spec.lease);
  to.field("session", spec.session.empty() ? std::nullopt : std::optional(spec.session));
  to.field("start", spec.start == start_when::later ? "later" : "now").close_object();
  return to.take();
}

external_spec read_external_block(const std::string& block) {
  std::string_view rest = block;
  external_spec spec;
  std::int64_t lease_ms = 0;
  if (!take_part(rest, block_before_lease) || !take_number(rest, lease_ms) || !take_part(rest, block_before_session))
    return {};
  if (!take_part(rest, block_no_session) && !take_string(rest, spec.session)) return {};
  if (rest == block_starts_later)
    spec.start = start_when::later;
  else if (rest != block_starts_now)
    return {};
  spec.lease = milliseconds(lease_ms);
  return spec;
}

std::string late_report_text(const owner_report& report, wall_time at) {
  constexpr std::size_t most_result_bytes = 64 * 1024;
  http::json_writer late;
  late.open_object();
  if (report.error) {
    late.key("error").open_object().field("code", report.error->code).field("message", report.error->message);
    late.close_object();
  }
  late.field("report", report.what == owner_word::complete ? "complete"
                       : report.what == owner_word::fail   ? "fail"
                                                           : "stopped");
  late.field("reported_at", at);
  if (!report.result.empty() && report.result.size() <= most_result_bytes) late.raw_field("result", report.result);
  late.close_object();
  return late.take();
}

} // namespace quell::controller
