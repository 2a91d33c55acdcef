// Random changes of conversations. `below(n)` draws a number below n.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "controller/commands/command.hpp"

namespace quell::controller::core_tests {

using drawing = std::function<std::size_t(std::size_t)>;

inline commands::rewrite_history drawn_rewrite(const drawing& below, const records::message_record& message,
                                               const operation_id& turn) {
  commands::rewrite_history what;
  for (auto i = below(3); i > 0; --i) what.discarded.push_back(turn);
  for (auto i = below(3); i > 0; --i) {
    records::kept_message one{message, {}};
    one.message.id = message_id::fresh();
    one.message.role = static_cast<records::message_role>(below(3));
    records::call_record call;
    call.operation = operation_id::fresh();
    call.outcome = records::call_outcome{below(2) == 0, false, "{}"};
    if (below(2) == 0) one.calls.push_back(std::move(call));
    what.added.push_back(std::move(one));
  }
  for (auto i = below(2); i > 0; --i)
    what.retracted.push_back({turn, R"({"ending":{"as":"cancelled","why":"unheard"}})"});
  return what;
}

inline commands::open_steered_call drawn_steered_call(const drawing& below, commands::create_local call,
                                                      const operation_id& waiting,
                                                      const records::message_record& message,
                                                      const records::event_record& event) {
  commands::open_steered_call what;
  what.call.turn = call.order.parent.value_or(waiting);
  what.call.id = call.id;
  what.call.order = std::move(call.order);
  for (auto i = below(3); i > 0; --i) {
    what.all.push_back({waiting, message, {}, event});
    what.all.back().message.id = message_id::fresh();
  }
  return what;
}

inline commands::store_summary drawn_summary(const drawing& below, const records::message_record& message,
                                             const operation_id& call, const operation_id& turn, own_outcome end) {
  records::event_record event;
  event.type = event_type::history_compacted;
  event.data = "{}";
  commands::store_summary what;
  what.call.call = call;
  what.call.turn = turn;
  what.call.end = std::move(end);
  what.call.used = {message.scope, "ada", "main", "m", {below(256), below(256)}};
  if (below(2) == 0) what.call.reported = event;
  if (below(4) > 0) what.summary = message;
  if (below(2) == 0) what.event = event;
  return what;
}

} // namespace quell::controller::core_tests
