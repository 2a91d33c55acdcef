// A report after the end changes no status.
#include "controller/commands/note_late_report.hpp"

#include "controller/commands/description.hpp"
#include "controller/ledger.hpp"

namespace quell::controller::commands {

note_late_report::answer apply(const note_late_report& command, const context& with) {
  with.operations.externals()->note_late_report(command.report, with.now);
  return {};
}

std::string describe(const note_late_report& command) {
  const auto& report = command.report;
  return description(note_late_report::name)
      .shown("operation", report.operation.text())
      .shown("status", name_of(wanted_by(report.what)))
      .redacted("result", report.result)
      .done();
}

} // namespace quell::controller::commands
