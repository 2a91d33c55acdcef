// Every command as one value, with its reply. Heavy: it includes every command. A file that makes a request includes
// command_request.hpp.
#pragma once

#include <type_traits>
#include <utility>
#include <variant>

#include "controller/commands/acknowledge_stop.hpp"
#include "controller/commands/add_cost.hpp"
#include "controller/commands/announce_controller_key.hpp"
#include "controller/commands/answer_question.hpp"
#include "controller/commands/ask_question.hpp"
#include "controller/commands/await_approval.hpp"
#include "controller/commands/begin_call.hpp"
#include "controller/commands/begin_history_change.hpp"
#include "controller/commands/begin_sub_agent.hpp"
#include "controller/commands/begin_turn.hpp"
#include "controller/commands/close_model_call.hpp"
#include "controller/commands/command_request.hpp"
#include "controller/commands/create_local.hpp"
#include "controller/commands/create_operation.hpp"
#include "controller/commands/create_operations.hpp"
#include "controller/commands/decide_call.hpp"
#include "controller/commands/declare_dead.hpp"
#include "controller/commands/declare_worker_dead.hpp"
#include "controller/commands/drain_worker.hpp"
#include "controller/commands/drop_old_rows.hpp"
#include "controller/commands/drop_token.hpp"
#include "controller/commands/end_externals.hpp"
#include "controller/commands/end_local.hpp"
#include "controller/commands/enrol_worker.hpp"
#include "controller/commands/find_external_stop.hpp"
#include "controller/commands/find_session_stops.hpp"
#include "controller/commands/keep_message.hpp"
#include "controller/commands/leave_turn.hpp"
#include "controller/commands/limit_slots.hpp"
#include "controller/commands/note_call_outcome.hpp"
#include "controller/commands/note_late_report.hpp"
#include "controller/commands/note_turn_begun.hpp"
#include "controller/commands/open_model_call.hpp"
#include "controller/commands/open_steered_call.hpp"
#include "controller/commands/order_cancel.hpp"
#include "controller/commands/pick_up_turns.hpp"
#include "controller/commands/publish_event.hpp"
#include "controller/commands/put_token.hpp"
#include "controller/commands/remove_worker.hpp"
#include "controller/commands/renew_externals.hpp"
#include "controller/commands/resize_terminal.hpp"
#include "controller/commands/resume_worker.hpp"
#include "controller/commands/rewrite_history.hpp"
#include "controller/commands/start_background.hpp"
#include "controller/commands/start_external.hpp"
#include "controller/commands/stop_local.hpp"
#include "controller/commands/store_answer.hpp"
#include "controller/commands/store_summary.hpp"
#include "controller/commands/take_back_question.hpp"
#include "controller/commands/take_message.hpp"
#include "controller/commands/write_audit.hpp"

namespace quell::controller {

using command_variant =
    std::variant<commands::create_operation, commands::create_operations, commands::order_cancel,
                 commands::declare_dead, commands::declare_worker_dead, commands::start_external,
                 commands::end_externals, commands::note_late_report, commands::renew_externals, commands::enrol_worker,
                 commands::drain_worker, commands::resume_worker, commands::remove_worker, commands::resize_terminal,
                 commands::put_token, commands::drop_token, commands::write_audit, commands::drop_old_rows,
                 commands::announce_controller_key, commands::find_external_stop, commands::find_session_stops,
                 // of turns and conversations:
                 commands::begin_turn, commands::begin_sub_agent, commands::create_local, commands::store_answer,
                 commands::begin_call, commands::await_approval, commands::decide_call, commands::ask_question,
                 commands::take_back_question, commands::answer_question, commands::note_call_outcome,
                 commands::end_local, commands::stop_local, commands::publish_event, commands::keep_message,
                 commands::pick_up_turns, commands::acknowledge_stop, commands::start_background,
                 commands::take_message, commands::note_turn_begun, commands::leave_turn, commands::open_model_call,
                 commands::close_model_call, commands::add_cost, commands::store_summary, commands::rewrite_history,
                 commands::begin_history_change, commands::open_steered_call, commands::limit_slots>;

/// A class of its own, so that other headers can declare it.
struct command : command_variant {
  using command_variant::command_variant;
};

/// One alternative for each type of answer.
using command_reply = std::variant<
    takers_of<commands::create_operation>, takers_of<commands::create_operations>, takers_of<commands::order_cancel>,
    takers_of<commands::declare_dead>, takers_of<commands::declare_worker_dead>, takers_of<commands::end_externals>,
    takers_of<commands::note_late_report>, takers_of<commands::renew_externals>, takers_of<commands::enrol_worker>,
    takers_of<commands::resize_terminal>, takers_of<commands::drop_old_rows>, takers_of<commands::begin_turn>,
    takers_of<commands::store_answer>, takers_of<commands::decide_call>, takers_of<commands::pick_up_turns>,
    takers_of<commands::find_external_stop>, takers_of<commands::find_session_stops>,
    takers_of<commands::start_background>, takers_of<commands::take_message>, takers_of<commands::leave_turn>,
    takers_of<commands::close_model_call>, takers_of<commands::add_cost>, takers_of<commands::rewrite_history>,
    takers_of<commands::open_steered_call>>;

struct command_request::content {
  command what;
  command_reply reply;
};

template <class To>
void command_request::hand_to(To to) && {
  std::visit(
      [&](auto& what) {
        to(what, std::move(std::get<takers_of<std::remove_reference_t<decltype(what)>>>(content_->reply)));
      },
      static_cast<command_variant&>(content_->what));
}

} // namespace quell::controller
