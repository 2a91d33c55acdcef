// The audit event (SURFACE 7): who did which action on which target, through which channel. The event's own time says
// when.
#pragma once

#include <string>
#include <string_view>

#include "controller/orders.hpp"

namespace quell::controller {

/// `{"action","target","by","via":{"channel","token","token_id"},"reason"}`. `target` is a text such as `scope
/// team/build`.
records::event_record audit_event(std::string_view action, std::string_view target, const records::person& by,
                                  std::string_view channel, const caller& through, std::string_view reason = {});
/// The audit event of an accepted cancel, including one that joined another.
records::event_record audit_of_cancel(const cancel_order& order, const cancel_id& id);
/// `operation ID`, `scope S`, `owner O`, `owner O in S`, `everything`, `everything in S`.
std::string target_text(const records::cancel_target& target);

} // namespace quell::controller
