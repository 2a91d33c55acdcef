// The one entrance for commands, and how the answer of each one waits for the disk.
#include <utility>

#include "controller/commands/command.hpp"
#include "controller/commit_gate.hpp"

namespace quell::controller {

namespace {

/// The answer when the disk has refused its rows, or a row that it can depend on.
enum class if_lost {
  same_answer,         ///< it leaves as it is: its effects are in memory, and the refused rows are written later
  refused,             ///< a success becomes a refusal
  refused_with_others, ///< the same, also while rows of an earlier transaction that the disk refused are missing
};

/// How a command shares a transaction, and how its answer leaves: always once everything that it can have seen is on
/// disk, or was refused by the disk. By default it ends with the burst of messages in which it came.
struct with_the_burst {
  static constexpr bool begins_transaction = false; ///< shares none with what came before it
  static constexpr bool ends_transaction = false;   ///< submits at once
  static constexpr bool more_follows = false;       ///< its sender gives the next order at once, before it is answered
  static constexpr auto lost = if_lost::same_answer;
};

template <class Command>
struct policy : with_the_burst {};

template <>
struct policy<commands::create_operation> : with_the_burst {
  static constexpr auto lost = if_lost::refused;
};
template <>
struct policy<commands::create_operations> : policy<commands::create_operation> {};

/// The owner of an external operation forgets its report once it is answered, so the answer must be true on disk.
template <>
struct policy<commands::start_external> : with_the_burst {
  static constexpr auto lost = if_lost::refused_with_others;
};
template <>
struct policy<commands::end_externals> : policy<commands::start_external> {};

/// The change must find on disk everything that was decided before it.
template <>
struct policy<commands::begin_history_change> : policy<commands::start_external> {};

/// The turn opens its first model call, unless that is part of this order; its last one is closed just before it ends.
template <>
struct policy<commands::begin_turn> : with_the_burst {
  static constexpr bool more_follows = true;
};
template <>
struct policy<commands::close_model_call> : policy<commands::begin_turn> {};

template <>
struct policy<commands::put_token> : with_the_burst {
  static constexpr bool ends_transaction = true;
  static constexpr auto lost = if_lost::refused;
};
template <>
struct policy<commands::drop_token> : policy<commands::put_token> {};
/// Effects of earlier messages go in a transaction of their own, so that a cancel that comes right after this waits for
/// one small transaction.
template <>
struct policy<commands::drop_old_rows> : policy<commands::put_token> {
  static constexpr bool begins_transaction = true;
};

// The answers of commands whose rows the disk has refused.

void refuse(outcome<created>& answer) {
  if (answer) answer = tl::unexpected(commands::no_room_to_create("the write failed"));
}
void refuse(outcome<operation_id>& answer) {
  if (answer)
    answer = tl::unexpected(refusal{
        {error_code::storage_unavailable, "The store is full, so this is not on disk. Free space, then repeat.", {}},
        {},
        {}});
}
void refuse(outcome<std::uint64_t>& answer) {
  if (answer)
    answer = tl::unexpected(refusal{
        {error_code::storage_unavailable, "The store is full, so nothing was changed. Free space, then repeat.", {}},
        {},
        {}});
}
void refuse(result<void>& answer) {
  answer = failure(error_code::storage_unavailable, "Nothing was written: the store is full. Free space, then repeat.");
}
void refuse(bool& answer) { answer = false; }
template <class Answer>
void refuse(std::vector<Answer>& answers) {
  for (auto& answer : answers) refuse(answer);
}

// The answers of creates, once they are committed.

/// A later command, of the same commit even, can have changed what was created; then it must be read.
void drop_changed(outcome<created>& answer, const ledger& operations, moment at) {
  if (!answer || !answer->shown) return;
  const auto view = operations.view(answer->id, at);
  if (!view || view->hot != answer->shown->view.hot) answer->shown.reset();
}
void drop_changed(std::vector<outcome<created>>& answers, const ledger& operations, moment at) {
  for (auto& answer : answers) drop_changed(answer, operations, at);
}

} // namespace

void commit_gate::execute(command_request&& request, moment now) {
  edges_.command_given(request.what());
  const bool others_wait = dirty_ && !expects_more_;
  bool more_follows = false;
  std::move(request).hand_to([&](const auto& what, auto takers) {
    using given = std::remove_cvref_t<decltype(what)>;
    requested_by_ = given::name;
    more_follows = policy<given>::more_follows;
    if constexpr (std::is_same_v<given, commands::begin_turn>) more_follows = !what.first_call;
    if constexpr (std::is_same_v<given, commands::create_operation>) {
      // Nothing was read and nothing is written, so the refusal waits for nothing.
      if (edges_.storage_low()) {
        auto refused = apply(what, commands::context{*ledger_, *fleet_, conversations_, batch_, now, true});
        return takers.done ? takers.done(std::move(refused)) : void();
      }
    } else if constexpr (std::is_same_v<given, commands::drop_old_rows>) {
      const bool is_idle = gate_.empty() && batch_.empty() && !sweeping_;
      if (!(what.gives_way == gives_way_to::cancels ? may_sweep() : is_idle))
        return takers.done ? takers.done(false) : void();
    }
    if constexpr (std::is_same_v<given, commands::order_cancel>)
      cancel(what, std::move(takers.done), now);
    else if constexpr (std::is_same_v<given, commands::take_message>)
      take(what, std::move(takers.done), takers.at_once, now);
    else
      perform(what, std::move(takers), now);
  });
  expects_more_ = more_follows && !others_wait;
}

template <class Command, class Takers>
void commit_gate::perform(const Command& what, Takers takers, moment now) {
  if (policy<Command>::begins_transaction) end_transaction(now);
  auto answer = apply(what, commands::context{*ledger_, *fleet_, conversations_, batch_, now, edges_.storage_low()});
  if (takers.at_once) takers.at_once(answer);
  await_disk<Command>(std::move(answer), std::move(takers.done), now);
  if (policy<Command>::ends_transaction) end_transaction(now);
}

/// Keeps the answer with the transaction's effects. A refusal writes nothing and waits for nothing of its own, but can
/// have seen what is not on disk yet.
template <class Command, class Answer, class Done>
void commit_gate::await_disk(Answer answer, Done done, moment now) {
  absorb(now);
  if (!done) done = [](const Answer&) {};
  transaction_.answers.push_back([this, answer = std::move(answer), done = std::move(done), now](bool durable) mutable {
    if constexpr (requires { drop_changed(answer, *ledger_, now); }) drop_changed(answer, *ledger_, now);
    constexpr auto lost = policy<Command>::lost;
    if (lost == if_lost::refused_with_others && awaits_retry()) durable = false;
    if constexpr (lost != if_lost::same_answer)
      if (!durable) refuse(answer);
    done(std::move(answer));
  });
  dirty_ = true;
}

/// A stop is performed, and answered, even if it is not durable. One that accepts a cancel is fenced, as any cancel is.
void commit_gate::take(const commands::take_message& what, std::function<void(commands::taken_message)> done,
                       const std::function<void(const commands::taken_message&)>& at_once, moment now) {
  const auto rows_before = batch_.size();
  const bool is_on_disk = !what.again && is_conversation_on_disk(what.order.scope);
  auto answer = apply(what, commands::context{*ledger_, *fleet_, conversations_, batch_, now, edges_.storage_low()});
  const bool fences = answer.fences.has_value();
  if (fences) transaction_.fence.push_back(*answer.fences);
  const bool is_first = answer.next == commands::taken_message::then::begin_turn && !what.again;
  if (is_first) { // its rows are known once they are part of the transaction
    absorb(now);
    answer.first = first_turn_in_batch(what.turn, rows_before, is_on_disk);
  }
  if (at_once) at_once(answer);
  if (!is_first) absorb(now);
  transaction_.answers.push_back([answer = std::move(answer), done = std::move(done)](bool durable) mutable {
    if (answer.next == commands::taken_message::then::stop) answer.answer->durable = durable;
    if (done) done(std::move(answer));
  });
  dirty_ = true;
  if (!fences) return;
  end_transaction_of_stop(now);
}

void commit_gate::cancel(const commands::order_cancel& what, std::function<void(outcome<cancel_view>)> done,
                         moment now) {
  const commands::context with{*ledger_, *fleet_, conversations_, batch_, now, false};
  // Nothing is recorded, so there is nothing to fence. The ledger can be ahead of the disk, which the caller reads
  // next.
  if (auto absent = refuse_absent(what, with))
    return await_disk<commands::order_cancel>(commands::order_cancel::answer(tl::unexpected(std::move(*absent))),
                                              std::move(done), now);
  auto answer = accept(what, *ledger_, now);
  const bool fences = must_be_fenced(what, answer);
  if (fences) transaction_.fence.push_back(answer->record.id);
  absorb(now);
  // The answer is the cancel as accepted, now fenced: later changes (signalled, settled) can still be missing on disk.
  transaction_.answers.push_back([this, fences, answer = std::move(answer), received = what.order.received,
                                  done = std::move(done)](bool durable) mutable {
    if (answer && answer->record.outcome == cancel_outcome::joined && (!durable || awaits_retry(answer->record)))
      answer->record.durable = false;
    if (fences) {
      answer->record.durable = durable;
      auto& times = answer->record.report;
      times.fenced_ms = static_cast<double>((now_.boot - received).count()) / 1e6;
      if (answer->record.status == cancel_status::settled) { // nothing was live, so the cancel is complete
        times.signalled_ms = times.settled_ms = times.fenced_ms;
        answer->proven = true;
      }
    }
    if (done) done(std::move(answer));
  });
  end_transaction_of_stop(now);
}

} // namespace quell::controller
