// Random commands on one core, with refused writes, ticks and time. Records what it plays. For tests and for fuzzing.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/controller/commands/drawn_steps.hpp"
#include "tests/controller/commands/played_step.hpp"

namespace quell::controller::core_tests {

class command_player {
 public:
  /// `below(n)` draws a number below n. `expect` is told each promise and whether it held.
  command_player(std::function<std::size_t(std::size_t)> below,
                 std::function<void(bool holds, std::string_view promise)> expect)
      : below_(std::move(below)), expect_(std::move(expect)) {
    w_.worker_joins();
  }

  void step() {
    const auto before = given_;
    one_command();
    expect_(given_ == before + 1, "each step gives one command");
    if (below(3) == 0) run({played_step::event::burst});
    if (below(4) == 0) notice();
    if (below(6) == 0) pass();
  }
  /// Everything is written, and every answer has come.
  void finish() {
    w_.edges.low = false;
    for (int i = 0; i < 40; ++i) {
      pass();
      while (noticed_ < w_.edges.tickets) run({played_step::event::committed, {}, ++noticed_});
    }
    expect_(answered_ == given_, "every command is answered once");
    expect_(!w_.edges.failure, "the process goes on");
    expect_(w_.edges.forbidden.empty(), "no command asks for a forbidden move");
    for (const auto& [id, times] : w_.edges.ends) expect_(times == 1, "an operation ends once");
  }

  commands_world& world() { return w_; }
  const std::vector<played_step>& steps() const { return steps_; }
  const std::vector<operation_id>& operations() const { return ids_; }

 private:
  std::size_t below(std::size_t count) { return below_(count); }
  std::uint8_t byte() { return static_cast<std::uint8_t>(below(256)); }
  std::string text() { return below(4) == 0 ? "" : std::string(below(40), static_cast<char>(byte())); }
  worker_tasks tasks() { return below(2) == 0 ? worker_tasks::are_cancelled : worker_tasks::go_on; }
  std::string worker() { return below(5) == 0 ? text() : "w" + std::to_string(1 + below(3)); }
  scope_path scope() {
    static const std::array<const char*, 4> all = {"a", "a/b", "a/b/c", "d"};
    return *scope_path::parse(all[below(all.size())]);
  }
  operation_id some() { return ids_.empty() || below(8) == 0 ? operation_id::fresh() : ids_[below(ids_.size())]; }
  caller by() {
    auto who = w_.admin();
    if (below(4) == 0) who.prefix = scope();
    if (below(8) == 0) who.task = some();
    return who;
  }

  template <class Command>
  void give(Command what) {
    ++given_;
    steps_.push_back({played_step::event::command, command(what), 0, w_.now, w_.edges.low});
    expect_(describe(*steps_.back().given).size() < 2000, "a description is short");
    w_.c->execute({std::move(what),
                   [this, came = std::make_shared<bool>(false)](typename Command::answer) {
                     expect_(!*came, "an answer comes once");
                     *came = true;
                     ++answered_;
                   }},
                  w_.now);
  }

  decision a_decision() { return {approved_or_denied(below(2) == 0), text(), {}, "{}", {}, below(3) == 0 ? "{}" : ""}; }
  commands::create_operation create() {
    auto what = below(3) == 0 ? w_.external(below(2) == 0 ? start_when::later : start_when::now) : w_.task();
    auto& o = what.order;
    o.by = by();
    o.scope = scope();
    if (below(2) == 0) o.parent = some();
    if (below(4) == 0) o.scope.reset();
    if (below(4) == 0) o.id = below(2) == 0 ? some() : what.fresh;
    if (below(4) == 0) o.timeout = milliseconds{below(3000)};
    if (below(4) == 0) o.supersede = "key";
    if (below(4) == 0) o.as_of_seq = below(100);
    o.on_parent_end = static_cast<on_parent_end>(below(3));
    o.fingerprint = text();
    if (o.kind == kind::task && below(3) == 0) o.task.worker = worker();
    ids_.push_back(what.fresh);
    return what;
  }
  commands::order_cancel cancel() {
    auto what = w_.cancel_of(some());
    auto& o = what.order;
    o.by_token = by();
    if (below(4) == 0) o.target = records::target_scope{scope()};
    if (below(12) == 0) o.target = records::target_owner{"ada", {}};
    if (below(40) == 0) o.target = records::target_everything{scope()};
    o.if_unknown = below(2) == 0 ? unknown_id::is_refused : unknown_id::leaves_tombstone;
    o.has_ended = below(8) == 0;
    o.mode = below(6) == 0 ? cancel_mode::dry_run : cancel_mode::stop;
    if (below(4) == 0) o.grace = milliseconds{below(3000)};
    if (below(6) == 0) o.up_to_seq = below(200);
    what.target = static_cast<commands::order_cancel::may_target>(below(2));
    return what;
  }
  owner_report report() {
    owner_report made{some(), static_cast<owner_word>(below(3)), text(), {}};
    if (below(2) == 0) made.error = records::operation_error{"error", text()};
    return made;
  }

  void one_command() {
    switch (below(command_counts::size)) {
    case 0:
      return give(create());
    case 1: {
      commands::create_operations many;
      for (auto i = below(5); i > 0; --i) many.all.push_back(create());
      return give(std::move(many));
    }
    case 2:
      return give(cancel());
    case 3:
      return give(commands::declare_dead{some(), text(), by()});
    case 4:
      return give(commands::declare_worker_dead{worker(), text(), by()});
    case 5:
      return give(commands::start_external{some(), by()});
    case 6:
      return give(commands::end_externals{{report(), report()}, by()});
    case 7:
      return give(commands::note_late_report{report()});
    case 8:
      return give(commands::renew_externals{
          {by(), {some(), some()}, below(2) == 0 ? std::optional<std::string>("runtime") : std::nullopt}});
    case 9:
      return give(commands::enrol_worker{worker(), std::string(40, static_cast<char>('a' + below(4))), {}});
    case 10:
      return give(commands::drain_worker{
          worker(), text(), below(2) == 0 ? std::optional(milliseconds{below(2000)}) : std::nullopt, tasks(), {}});
    case 11:
      return give(commands::resume_worker{worker()});
    case 12:
      return below(5) == 0 ? give(commands::remove_worker{worker(), tasks(), {}})
                           : give(commands::resume_worker{worker()});
    case 13:
      return give(commands::resize_terminal{some(), byte(), 80});
    case 14: {
      records::token_record record;
      record.id = token_id::fresh();
      record.name = text();
      return give(commands::put_token{std::move(record)});
    }
    case 15:
      return give(commands::drop_token{token_id::fresh()});
    case 16:
      return give(commands::write_audit{text(), text(), by(), text()});
    case 17:
      return give(commands::drop_old_rows{{operation_id::fresh()},
                                          {cancel_id::fresh()},
                                          below(3),
                                          below(2) == 0 ? gives_way_to::cancels : gives_way_to::all_work});
    case 18:
      return give(commands::find_external_stop{some(), by()});
    case 19:
      return give(commands::find_session_stops{"runtime", by()});
    case 20:
      return give(commands::announce_controller_key{text(), below(2) == 0 ? std::optional(text()) : std::nullopt});
    default:
      return one_step_of_a_turn();
    }
  }

  /// Only operations of this process take their steps; nobody knows the fresh ones.
  operation_id one_of(const std::vector<operation_id>& all) {
    return all.empty() || below(8) == 0 ? operation_id::fresh() : all[below(all.size())];
  }
  operation_id a_call() { return one_of(calls_); }
  operation_id a_turn() { return one_of(turns_); }
  records::event_record event() {
    records::event_record e;
    e.type = event_type::tool_start;
    e.data = "{}";
    return e;
  }
  records::message_record message() {
    records::message_record m;
    m.id = message_id::fresh();
    m.scope = scope();
    m.text = text();
    return m;
  }
  commands::create_local piece(kind what, std::optional<operation_id> parent) {
    create_order o;
    o.by = w_.admin();
    o.kind = what;
    o.scope = scope();
    o.parent = parent;
    if (parent) o.scope.reset();
    o.start = below(2) == 0 ? start_when::later : start_when::now;
    ids_.push_back(operation_id::fresh());
    return {std::move(o), ids_.back()};
  }
  own_outcome end() {
    own_outcome made;
    made.as = below(2) == 0 ? status::completed : status::failed;
    if (made.as == status::failed) made.error = records::operation_error{"error", text()};
    made.call = records::call_outcome{below(2) == 0, false, "{}"};
    return made;
  }

  commands::take_message a_message() {
    commands::take_message what;
    auto& o = what.order;
    o.by = w_.admin();
    o.scope = scope();
    o.text = text();
    o.author.id = o.author.name = below(2) == 0 ? "ada" : "bob";
    if (below(3) == 0) o.client_id = "m" + std::to_string(below(8));
    if (below(3) == 0) o.modality = turns::modality::voice;
    if (below(3) == 0) o.addressed = below(2) == 0;
    if (below(3) == 0) o.humans_present = 1 + static_cast<std::uint32_t>(below(2));
    if (below(8) == 0) o.exchange = a_turn();
    if (below(3) != 0) o.during = static_cast<turns::during_turn>(below(3));
    o.wants = static_cast<turns::message_order::scope_of_decision>(below(3));
    if (below(3) == 0) what.word = "stop";
    if (below(6) == 0)
      what.agent = tl::unexpected(refusal{{error_code::invalid_field, "no agent serves it", {}}, {}, {}});
    else
      what.agent = commands::answering_agent{"main", milliseconds{below(2) == 0 ? 0 : 1000}, "{}"};
    what.received = w_.now.boot;
    what.message = message_id::fresh();
    what.turn = operation_id::fresh();
    what.cancel = cancel_id::fresh();
    if (below(6) == 0) {
      what.again = commands::question_again{a_change(), {a_turn()}, {}};
      auto& copy = what.again->steering.emplace_back();
      copy.id = message_id::fresh();
      copy.scope = o.scope;
    }
    ids_.push_back(what.turn);
    turns_.push_back(what.turn);
    return what;
  }
  /// A change of a conversation is not an operation: others can only guess its id.
  operation_id a_change() { return one_of(changes_); }

  void one_step_of_a_turn() {
    switch (below(31)) {
    case 30:
      return give(drawn_limits(below_));
    case 25:
      return give(drawn_model_call(below_, piece(kind::model_call, a_turn()), a_turn()));
    case 26:
      return give(drawn_model_end(below_, scope(), some(), a_turn(), end()));
    case 27:
      return give(drawn_early_use(below_, scope(), a_turn(), event()));
    case 28:
      return give(drawn_acknowledgement(below_, message(), event()));
    case 29: {
      auto task = w_.task(scope().text());
      ids_.push_back(task.fresh);
      return give(drawn_background(below_, std::move(task), a_call(), end()));
    }
    case 24:
      return give(drawn_steered_call(below_, piece(kind::model_call, a_turn()), a_turn(), message(), event()));
    case 20:
      return give(drawn_rewrite(below_, message(), a_turn()));
    case 21:
      return give(drawn_summary(below_, message(), a_call(), a_turn(), end()));
    case 22: {
      changes_.push_back(operation_id::fresh());
      commands::begin_history_change what{changes_.back(), {scope()}};
      if (below(2) == 0) what.scopes.push_back(*scope_path::parse("elsewhere"));
      return give(std::move(what));
    }
    case 23:
      return give(commands::leave_turn{a_change(), scope()});
    case 16:
    case 17:
      return give(a_message());
    case 18:
      return give(commands::leave_turn{a_turn(), scope()});
    case 19:
      return give(commands::note_turn_begun{a_turn(), "ada", scope(), static_cast<turns::turn_of>(below(2))});
    case 0: {
      auto made = piece(kind::turn, {});
      turns_.push_back(made.id);
      return give(std::move(made));
    }
    case 1: {
      commands::begin_turn what{a_turn(), {a_call()}, {}};
      if (below(2) == 0) what.started_event = event();
      return give(std::move(what));
    }
    case 2: {
      auto made = piece(kind::sub_agent, a_call());
      return give(commands::begin_sub_agent{std::move(made.order), made.id, message()});
    }
    case 3:
    case 4: {
      commands::store_answer what{message(), {}, message_id::fresh()};
      for (auto i = below(4); i > 0; --i) {
        auto made = piece(kind::tool_call, a_turn());
        made.order.start = start_when::later;
        made.order.call = records::call_record{};
        calls_.push_back(made.id);
        what.calls.push_back({made.id, std::move(made.order)});
      }
      return give(std::move(what));
    }
    case 5:
      return give(commands::begin_call{a_call()});
    case 6:
      return give(commands::await_approval{a_call(), event()});
    case 7:
      return give(commands::decide_call{a_call(), a_decision(), {}, below(4) > 0});
    case 8:
      return give(commands::ask_question{a_call(), {question_, "{}"}, event()});
    case 9:
      return give(commands::take_back_question{a_call(), question_});
    case 10:
      return give(commands::answer_question{a_call(), {question_, below(2) == 0, false, "{}", text(), {}, "{}"}});
    case 11:
      return give(commands::note_call_outcome{a_call(), "{}",
                                              below(2) == 0 ? commands::noted_call::any : commands::noted_call::ended});
    case 12:
      return give(commands::end_local{below(2) == 0 ? a_call() : a_turn(), end()});
    case 13:
      return give(commands::stop_local{{a_call(), a_turn()}, stop_cause::timeout});
    case 14:
      return below(2) == 0 ? give(commands::publish_event{event()}) : give(commands::keep_message{message()});
    default:
      return give(commands::pick_up_turns{});
    }
  }

  /// The journal has written the next batch, or its disk was full. A refused create ends the process, so no batch with
  /// one is refused here.
  void notice() {
    if (noticed_ == w_.edges.tickets) return;
    const auto& batch = w_.edges.batches[noticed_++];
    const bool creates = std::any_of(batch.begin(), batch.end(), [](const records::entry& e) {
      return std::holds_alternative<records::put_operation>(e);
    });
    w_.edges.low = below(10) == 0;
    const bool refuses = !creates && below(6) == 0;
    run({refuses ? played_step::event::refused : played_step::event::committed, {}, noticed_});
  }
  void pass() {
    const milliseconds time{below(800)};
    w_.now.boot = w_.now.boot + time;
    w_.now.wall += time;
    run({played_step::event::tick});
  }
  void run(played_step what) {
    what.at = w_.now;
    what.storage_low = w_.edges.low;
    play_again(w_, what);
    steps_.push_back(std::move(what));
  }

  commands_world w_;
  std::function<std::size_t(std::size_t)> below_;
  std::function<void(bool, std::string_view)> expect_;
  std::vector<played_step> steps_;
  std::vector<operation_id> ids_, turns_, calls_, changes_;
  operation_id question_ = operation_id::fresh();
  std::uint64_t noticed_ = w_.edges.tickets;
  int given_ = 0, answered_ = 0;
};

} // namespace quell::controller::core_tests
