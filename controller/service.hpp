// The controller's interface for its front ends (HTTP, chat, voice). Any thread may call every method. Each answers
// through a callback once everything that the answer depends on is durable. Callbacks run on a controller thread and
// must only pass the answer on.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/external_operations.hpp"
#include "controller/order_claim.hpp"
#include "controller/orders.hpp"
#include "controller/output_reader.hpp"
#include "controller/records/entries.hpp"
#include "controller/tree_page.hpp"

namespace quell::controller {

template <class T>
using reply = std::function<void(T)>;

/// An event after its commit. Delivered in commit order on a controller thread; the listener must not block.
struct committed_event {
  const records::event_record& event; ///< valid during the call
};

class service {
 public:
  virtual ~service() = default;

  virtual void create(create_order order, reply<outcome<created>> done) = 0;
  /// Creates many in one commit and answers in order.
  virtual void create_many(std::vector<create_order> orders, reply<std::vector<outcome<created>>> done) = 0;
  /// Answers when the cancel is fenced (a dry run or a refusal: at once). To wait for signalled or settled, use
  /// `view_cancel` and events.
  virtual void cancel(cancel_order order, reply<outcome<cancel_view>> done) = 0;
  /// The same, unless `claim` was taken before it begins: then it does nothing and never answers. With `live_target`,
  /// work that is not live gives `operation_not_found`, and nothing is recorded.
  enum class may_target : std::uint8_t { anything, live_target };
  virtual void cancel_claimed(cancel_order order, may_target what, std::shared_ptr<order_claim> claim,
                              reply<outcome<cancel_view>> done) = 0;
  virtual void declare_dead(operation_id id, std::string reason, caller by, reply<outcome<operation_id>> done) = 0;
  virtual void declare_worker_dead(std::string worker, std::string reason, caller by,
                                   reply<outcome<std::size_t>> done) = 0;

  // External operations: see external_operations. Orders that end them are answered once they are on disk.
  virtual void start_external(operation_id id, caller by, reply<outcome<operation_id>> done) = 0;
  virtual void end_externals(std::vector<owner_report> reports, caller by,
                             reply<std::vector<outcome<operation_id>>> done) = 0;
  virtual void note_late_report(owner_report report) = 0;
  virtual void heartbeat(renewal_order order, reply<renewal_answer> done) = 0;
  virtual void signal_of(operation_id id, caller by, reply<outcome<std::optional<external_signal>>> done) = 0;
  virtual void signals_of(std::string session, caller by, reply<std::vector<external_signal>> done) = 0;
  /// Sets the listener for signals, called once the stop is durable (or is performed without being durable). Set once
  /// at start.
  virtual void on_signal(std::function<void(const external_signal&)> listener) = 0;

  /// For each id the ledger's view, or nullopt if it is not live (then the committed row is the whole truth).
  virtual void views(std::vector<operation_id> ids, reply<std::vector<std::optional<live_view>>> done) = 0;
  virtual void view_cancel(cancel_id id, reply<std::optional<cancel_view>> done) = 0;
  virtual void scopes(std::optional<scope_path> prefix, listed_scopes which, std::optional<scope_path> after,
                      std::size_t limit, reply<std::vector<scope_view>> done) = 0;
  /// A page of the live tree (ledger.hpp); the caller must check who may see it.
  virtual void branches(tree_question question, reply<tree_page> done) = 0;
  virtual void cluster(reply<cluster_view> done) = 0;

  virtual void workers(reply<std::vector<worker_view>> done) = 0;
  virtual void worker(std::string name, reply<std::optional<worker_view>> done) = 0;
  virtual void enrol_worker(std::string name, std::string public_key, std::map<std::string, std::string> labels,
                            reply<result<worker_view>> done) = 0;
  virtual void drain_worker(std::string name, std::string reason, std::optional<milliseconds> deadline,
                            worker_tasks tasks, caller by, reply<result<worker_view>> done) = 0;
  virtual void resume_worker(std::string name, reply<result<worker_view>> done) = 0;
  virtual void remove_worker(std::string name, worker_tasks tasks, caller by, reply<result<worker_view>> done) = 0;

  virtual void resize(operation_id id, std::uint16_t rows, std::uint16_t columns, reply<result<void>> done) = 0;

  /// Tokens and audit events: answered once durable.
  virtual void put_token(records::token_record record, reply<result<void>> done) = 0;
  virtual void drop_token(token_id id, reply<result<void>> done) = 0;
  virtual void audit(std::string action, std::string target, caller by, std::string via) = 0;

  /// Drops old rows of ended things unless more urgent work waits; answers, once that is durable, whether it did.
  struct old_things {
    std::vector<operation_id> operations; ///< children before their parents
    std::vector<cancel_id> cancels;
    std::uint64_t events_up_to = 0; ///< 0 = none
    gives_way_to gives_way = gives_way_to::all_work;
    /// Of turns among the operations: their conversations stay, and the rows that said how they ended go.
    std::vector<records::put_turn_ending> endings = {};
  };
  virtual void drop_old(old_things what, reply<bool> done) = 0;

  /// Sets the listener for events, called for each after its commit. Set once at start.
  virtual void on_event(std::function<void(const committed_event&)> listener) = 0;
  /// True while the state directory is low on space: starts are refused (503 storage_unavailable).
  virtual bool storage_low() const = 0;
};

} // namespace quell::controller
