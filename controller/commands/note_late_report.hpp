// Keeps an owner's report that came after its operation had ended unreported, marked late, beside the row, once.
#pragma once

#include <string>
#include <string_view>

#include "controller/commands/context.hpp"
#include "controller/external_operations.hpp"

namespace quell::controller::commands {

struct note_late_report {
  using answer = nothing;
  static constexpr std::string_view name = "note_late_report";

  owner_report report;
};

note_late_report::answer apply(const note_late_report& command, const context& with);
std::string describe(const note_late_report& command);

} // namespace quell::controller::commands
