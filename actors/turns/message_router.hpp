// The message router: looks for repeats and stop words, has the core decide (`take_message`), and performs what
// follows.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "actors/turns/acknowledge.hpp"
#include "actors/turns/agent_runtime.hpp"
#include "actors/turns/cancel_words.hpp"
#include "controller/commands/take_message.hpp"
#include "controller/message_order.hpp"

namespace quell::controller::turns {

/// The turns that a message becomes. On the controller's thread.
struct turn_queue {
  /// The turn has entered the queue of its scope. Before that is durable.
  std::function<void(const operation_id& turn, const scope_path&)> entered;
  /// The turn is the first: called once that is durable, or before that if what it is told of is on disk already. Its
  /// steps reach the disk behind its message in either case.
  std::function<void(std::shared_ptr<const first_turn>)> begin;
};

/// Any thread. Must be held by a shared_ptr.
class message_router final : public std::enable_shared_from_this<message_router> {
 public:
  using answer = reply<outcome<message_answer>>;

  /// `repeats` looks up earlier copies of a message: one row by its key, with no other jobs in its queue.
  message_router(std::shared_ptr<agent_runtime> runtime, std::unique_ptr<blocking_executor> repeats, turn_queue queue);
  /// Ends all look-ups.
  /// Takes the cancel words and names from the settings that hold now. Any thread.
  void reload() { words_.set(words_by_place(runtime_->settings->chat)); }
  void stop();
  /// Answers once the whole decision is durable; a stop is answered even if it could not be made durable.
  void take(message_order order, answer done);
  /// Asks again: the order becomes a turn behind the change that holds its scope, and the old exchange goes; unless
  /// something else waits there already (`turn_running`).
  void ask_again(message_order order, commands::question_again what, answer done);
  /// After a restart: acknowledges the stops that were not acknowledged.
  void pick_up();
  /// On the controller's thread.
  void settled(const cancel_id& cancel) { says_->settled(cancel); }

 private:
  void ignore(std::string why, answer done);
  void look_for_repeat(message_order order, answer done);
  void decide(message_order order, answer done);
  void say_stopped(const message_order& order, message_answer a, const kept_decision& kept, store_reader& store,
                   answer done);
  void repeat(const records::message_record& known, store_reader& store, const message_order& order, answer done);

  std::shared_ptr<agent_runtime> runtime_;
  const std::unique_ptr<blocking_executor> repeats_;
  const turn_queue queue_;
  current<words_by_place> words_;
  const std::shared_ptr<acknowledger> says_;
};

} // namespace quell::controller::turns
