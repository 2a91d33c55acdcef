// Each report is judged by itself, in order.
#include "controller/commands/end_externals.hpp"

#include "controller/commands/description.hpp"
#include "controller/ledger.hpp"

namespace quell::controller::commands {

end_externals::answer apply(const end_externals& command, const context& with) {
  end_externals::answer answers;
  answers.reserve(command.reports.size());
  for (const auto& report : command.reports)
    answers.push_back(with.operations.externals()->end_external(report, command.by, with.now));
  return answers;
}

std::string describe(const end_externals& command) {
  description text(end_externals::name);
  text.count("reports", command.reports.size());
  if (command.reports.size() == 1) {
    const auto& report = command.reports.front();
    text.shown("operation", report.operation.text()).shown("status", name_of(wanted_by(report.what)));
    text.redacted("result", report.result);
    if (report.error) text.redacted("error", report.error->message);
  }
  return text.by(command.by).done();
}

} // namespace quell::controller::commands
