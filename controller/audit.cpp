// Builds audit events.
#include "controller/audit.hpp"

#include "controller/json/json_writer.hpp"

namespace quell::controller {

records::event_record audit_event(std::string_view action, std::string_view target, const records::person& by,
                                  std::string_view channel, const caller& through, std::string_view reason) {
  http::json_writer data;
  data.open_object().field("action", action).field("by", by).field("reason", reason).field("target", target);
  data.key("via").open_object().field("channel", channel);
  data.field("token", through.token_name).field("token_id", through.token_id).close_object().close_object();
  records::event_record e;
  e.type = event_type::audit;
  e.data = data.take();
  return e;
}

std::string target_text(const records::cancel_target& target) {
  struct {
    std::string operator()(const records::target_operation& t) const { return "operation " + t.id.text(); }
    std::string operator()(const records::target_scope& t) const { return "scope " + t.scope.text(); }
    std::string operator()(const records::target_owner& t) const {
      return "owner " + t.owner + (t.below ? " in " + t.below->text() : "");
    }
    std::string operator()(const records::target_everything& t) const {
      return "everything" + (t.below ? " in " + t.below->text() : std::string());
    }
  } text;
  return std::visit(text, target);
}

records::event_record audit_of_cancel(const cancel_order& order, const cancel_id& id) {
  auto e = audit_event("cancel", target_text(order.target), order.by.value_or(order.by_token.owner), order.via_channel,
                       order.by_token, order.reason);
  e.cancel = id;
  return e;
}

} // namespace quell::controller
