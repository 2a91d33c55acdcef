// `quell status`: the cluster in a few lines.
#include <nlohmann/json.hpp>

#include "cli/commands/commands.hpp"
#include "cli/duration.hpp"
#include "cli/exit_code.hpp"
#include "cli/fields.hpp"
#include "cli/instant.hpp"
#include "cli/operation_view.hpp"

namespace quell::cli {
namespace {

constexpr const char* status_hidden = "not for this token to see";

/// `2 ready, 1 lost`: the nonzero numbers of an object; a bare number is shown as it is.
std::string number_or_counts(const nlohmann::json& value) {
  if (value.is_null()) return status_hidden;
  if (value.is_number()) return std::to_string(whole_number(value));
  std::string out;
  if (value.is_object())
    for (const auto& [name, count] : value.items())
      if (whole_number(count) != 0)
        out += (out.empty() ? "" : ", ") + std::to_string(whole_number(count)) + " " + printable(name);
  return out.empty() ? "none" : out;
}

} // namespace

exit_code execute(session& s, const status_options&) {
  auto controller = s.connect();
  if (!controller) return s.fail(controller.error());
  auto status = (*controller)->get("/v1/status");
  if (!status) return s.fail(status.error());
  if (s.json()) {
    s.print_document(*status);
    return exit_code::done;
  }
  const view v = view_of(s);
  const auto open = number_of(*status, "cancels_open");
  const bool is_hidden = member(*status, "cancels_open").is_null();
  std::string out = "controller  " + (*controller)->where().url + ", version " +
                    printable(text_of(*status, "version")) + ", since " + instant_and_age(*status, "started_at", v) +
                    "\n";
  out += "cluster     " + printable(text_of(*status, "cluster")) + ", seq " +
         std::to_string(number_of(*status, "seq")) + "\n";
  out += "workers     " + number_or_counts(member(*status, "workers")) + "\n";
  out += "operations  " + number_or_counts(member(*status, "operations")) + "\n";
  out += "cancels     " + (is_hidden ? std::string(status_hidden) : std::to_string(open) + " open");
  if (open > 0) out += ", the oldest for " + duration_text(milliseconds{number_of(*status, "oldest_open_cancel_ms")});
  s.print(out + "\n");
  return exit_code::done;
}

} // namespace quell::cli
