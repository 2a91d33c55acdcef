// Changes the conversation of a scope: clear, compact, edit, delete, ask again, copy.
//
// A change takes a place in the scope's queue of turns (`begin_history_change`): so none runs meanwhile, and messages
// that come wait behind it. It is refused if a turn runs or waits there.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "actors/turns/agent_runtime.hpp"
#include "actors/turns/history_order.hpp"
#include "actors/turns/history_reading.hpp"
#include "actors/turns/message_router.hpp"
#include "controller/conversations.hpp"

namespace quell::controller::turns {

class history_editor final : public std::enable_shared_from_this<history_editor> {
 public:
  using answer = reply<outcome<history_answer>>;
  /// `begin`: a turn that waited behind a change begins. On the controller's thread.
  history_editor(std::shared_ptr<agent_runtime> runtime, std::shared_ptr<message_router> router,
                 std::function<void(const queued_turn&)> begin)
      : runtime_(std::move(runtime)), router_(std::move(router)), begin_(std::move(begin)) {}

  void take(history_order order, answer done);
  /// If it is a summary that holds its scope, the scope is free. On the controller's thread.
  void ended(const operation_id& operation);

 private:
  /// A change that holds its scopes.
  struct change {
    history_order order;
    answer done;
    operation_id holds = operation_id::fresh(); ///< its entry in the queue, and the operation of a summary
    std::uint64_t as_of = 0;                    ///< the ledger's newest seq when it took its place
  };
  using change_ref = std::shared_ptr<change>;
  void look(const change_ref& c, store_reader& store);
  void clear(const change_ref& c, std::uint64_t newest);
  void compact(const change_ref& c, store_reader& store, std::uint64_t newest);
  void edit(const change_ref& c, store_reader& store);
  void remove(const change_ref& c, store_reader& store);
  void regenerate(const change_ref& c, store_reader& store);
  void copy(const change_ref& c, store_reader& store);
  void discard_then_answer(const change_ref& c, std::vector<operation_id> turns,
                           std::vector<records::kept_message> added, history_answer a);
  void refuse(const change_ref& c, error_code code, std::string detail);
  void refuse(const change_ref& c, refusal why);
  /// Gives the scopes free, then answers.
  void finish(const change_ref& c, outcome<history_answer> a);
  void let_go(const change_ref& c);

  const std::shared_ptr<agent_runtime> runtime_;
  const std::shared_ptr<message_router> router_;
  const std::function<void(const queued_turn&)> begin_;
  std::mutex guard_;
  std::unordered_map<operation_id, change_ref> summaries_; ///< that run
};

} // namespace quell::controller::turns
