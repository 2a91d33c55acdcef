// All commands: their descriptions, and how often each one came.
#include "controller/commands/command.hpp"

#include "controller/commands/command_counts.hpp"

namespace quell::controller {

namespace {

static_assert(std::variant_size_v<command_variant> == command_counts::size);

template <std::size_t... Which>
command_counts::names names_of_all(std::index_sequence<Which...>) {
  return {std::variant_alternative_t<Which, command_variant>::name...};
}

} // namespace

template <class Command>
command_request::command_request(Command what, answer_to<Command> done,
                                 std::function<void(const typename Command::answer&)> at_once)
    : content_(new content{command(std::in_place_type<Command>, std::move(what)),
                           command_reply(std::in_place_type<takers_of<Command>>,
                                         takers_of<Command>{std::move(done), std::move(at_once)})}) {}

// A command that is missing here cannot be linked.
#define QUELL_REQUEST(name)                                                                                            \
  template command_request::command_request(commands::name, answer_to<commands::name>,                                 \
                                            std::function<void(const commands::name::answer&)>);
QUELL_REQUEST(acknowledge_stop)
QUELL_REQUEST(add_cost)
QUELL_REQUEST(announce_controller_key)
QUELL_REQUEST(answer_question)
QUELL_REQUEST(ask_question)
QUELL_REQUEST(await_approval)
QUELL_REQUEST(begin_call)
QUELL_REQUEST(begin_history_change)
QUELL_REQUEST(begin_sub_agent)
QUELL_REQUEST(begin_turn)
QUELL_REQUEST(close_model_call)
QUELL_REQUEST(create_local)
QUELL_REQUEST(create_operation)
QUELL_REQUEST(create_operations)
QUELL_REQUEST(decide_call)
QUELL_REQUEST(declare_dead)
QUELL_REQUEST(declare_worker_dead)
QUELL_REQUEST(drain_worker)
QUELL_REQUEST(drop_old_rows)
QUELL_REQUEST(drop_token)
QUELL_REQUEST(end_externals)
QUELL_REQUEST(end_local)
QUELL_REQUEST(enrol_worker)
QUELL_REQUEST(find_external_stop)
QUELL_REQUEST(find_session_stops)
QUELL_REQUEST(renew_externals)
QUELL_REQUEST(keep_message)
QUELL_REQUEST(leave_turn)
QUELL_REQUEST(limit_slots)
QUELL_REQUEST(note_call_outcome)
QUELL_REQUEST(note_late_report)
QUELL_REQUEST(note_turn_begun)
QUELL_REQUEST(open_model_call)
QUELL_REQUEST(open_steered_call)
QUELL_REQUEST(order_cancel)
QUELL_REQUEST(pick_up_turns)
QUELL_REQUEST(publish_event)
QUELL_REQUEST(put_token)
QUELL_REQUEST(remove_worker)
QUELL_REQUEST(resize_terminal)
QUELL_REQUEST(resume_worker)
QUELL_REQUEST(rewrite_history)
QUELL_REQUEST(start_background)
QUELL_REQUEST(start_external)
QUELL_REQUEST(stop_local)
QUELL_REQUEST(store_answer)
QUELL_REQUEST(store_summary)
QUELL_REQUEST(take_back_question)
QUELL_REQUEST(take_message)
QUELL_REQUEST(write_audit)
#undef QUELL_REQUEST

command_request::~command_request() = default;
command_request::command_request(command_request&&) noexcept = default;
command_request& command_request::operator=(command_request&&) noexcept = default;

const command& command_request::what() const { return content_->what; }

void command_request::only_if(std::function<bool()> may_leave) {
  std::visit(
      [&](auto& takers) {
        if (!takers.done) return;
        takers.done = [may_leave = std::move(may_leave), done = std::move(takers.done)](auto answer) {
          if (may_leave()) done(std::move(answer));
        };
      },
      content_->reply);
}

std::string describe(const command& what) {
  return std::visit([](const auto& one) { return commands::describe(one); }, static_cast<const command_variant&>(what));
}

void command_counts::count(const command& what) { counts_[what.index()].fetch_add(1, std::memory_order_relaxed); }

std::vector<std::pair<std::string_view, std::uint64_t>> command_counts::now() const {
  static const auto names = names_of_all(std::make_index_sequence<size>());
  std::vector<std::pair<std::string_view, std::uint64_t>> all;
  all.reserve(size);
  for (std::size_t i = 0; i < size; ++i) all.emplace_back(names[i], counts_[i].load(std::memory_order_relaxed));
  return all;
}

} // namespace quell::controller
