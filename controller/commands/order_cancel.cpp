// The ledger judges rights and target; the audit event is in the same transaction.
#include "controller/commands/order_cancel.hpp"

#include "controller/audit.hpp"
#include "controller/commands/description.hpp"
#include "controller/ledger.hpp"

namespace quell::controller::commands {

std::optional<refusal> refuse_absent(const order_cancel& command, const context& with) {
  const auto* target = std::get_if<records::target_operation>(&command.order.target);
  if (command.target == order_cancel::may_target::anything || target == nullptr) return std::nullopt;
  if (with.operations.view(target->id, with.now)) return std::nullopt;
  return refusal{{error_code::operation_not_found, "operation " + target->id.text() + " is not live", {}}, {}, {}};
}

order_cancel::answer accept(const order_cancel& command, ledger& operations, moment now) {
  auto answer = operations.cancel(command.order, command.fresh, now);
  if (answer && !command.order.is_dry_run())
    operations.add_event(audit_of_cancel(command.order, answer->record.id), now);
  return answer;
}

order_cancel::answer apply(const order_cancel& command, const context& with) {
  if (auto absent = refuse_absent(command, with)) return tl::unexpected(std::move(*absent));
  return accept(command, with.operations, with.now);
}

bool must_be_fenced(const order_cancel& command, const order_cancel::answer& answer) {
  return answer && !command.order.is_dry_run() && answer->record.outcome != cancel_outcome::joined;
}

std::string describe(const order_cancel& command) {
  const auto& o = command.order;
  description text(order_cancel::name);
  text.shown("id", (o.id ? *o.id : command.fresh).text()).shown("target", target_text(o.target));
  if (o.grace) text.count("grace_ms", static_cast<std::uint64_t>(o.grace->count()));
  if (o.up_to_seq) text.count("up_to_seq", *o.up_to_seq);
  text.flag("dry_run", o.is_dry_run()).redacted("reason", o.reason).shown("via", o.via_channel);
  return text.by(o.by_token).done();
}

} // namespace quell::controller::commands
