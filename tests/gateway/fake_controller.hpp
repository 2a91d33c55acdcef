// A fake controller that a test drives, over a real journal: it commits first, then answers and emits events, on its
// own thread.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "controller/service.hpp"
#include "storage/journal.hpp"

namespace quell::controller::test {

class fake_controller : public service {
 public:
  explicit fake_controller(std::unique_ptr<storage::journal> journal);
  ~fake_controller() override;
  /// Answers the queued orders and stops the thread.
  void stop();

  // ---- orders of the tests ---------------------------------------------------------------------------------------
  operation_id start_operation(const std::string& scope, std::optional<operation_id> parent = {},
                               std::string title = "work");
  operation_id start_operation(const create_order& order);
  /// Ends the operation: the row first, then the event.
  void end_operation(const operation_id& id, status how, std::optional<cancel_id> by = {});
  void change_operation(const operation_id& id, const std::function<void(live_view&)>& change);
  /// Commits the row of a live operation anew: who has read it before must read it again.
  void touch_operation(const operation_id& id);
  void move_cancel(const cancel_id& id, cancel_status to);
  /// Commits an event; returns its id.
  std::uint64_t add_event(records::event_record event);
  void refuse_next_create(refusal r);
  void set_storage_low(bool low);
  void add_worker(const std::string& name);

  std::vector<create_order> creates();
  std::vector<cancel_order> cancels();
  std::vector<records::token_record> tokens_put();
  std::vector<std::string> audits();
  std::optional<std::pair<std::uint16_t, std::uint16_t>> last_resize();

  // ---- service ------------------------------------------------------------------------------------------------
  void create(create_order order, reply<outcome<created>> done) override;
  void cancel(cancel_order order, reply<outcome<cancel_view>> done) override;
  void cancel_claimed(cancel_order order, may_target what, std::shared_ptr<order_claim> claim,
                      reply<outcome<cancel_view>> done) override;
  void declare_dead(operation_id id, std::string reason, caller by, reply<outcome<operation_id>> done) override;
  void declare_worker_dead(std::string worker, std::string reason, caller by,
                           reply<outcome<std::size_t>> done) override;
  void views(std::vector<operation_id> ids, reply<std::vector<std::optional<live_view>>> done) override;
  void view_cancel(cancel_id id, reply<std::optional<cancel_view>> done) override;
  void scopes(std::optional<scope_path> prefix, listed_scopes which, std::optional<scope_path> after, std::size_t limit,
              reply<std::vector<scope_view>> done) override;
  void cluster(reply<cluster_view> done) override;
  void workers(reply<std::vector<worker_view>> done) override;
  void worker(std::string name, reply<std::optional<worker_view>> done) override;
  void enrol_worker(std::string name, std::string public_key, std::map<std::string, std::string> labels,
                    reply<result<worker_view>> done) override;
  void drain_worker(std::string name, std::string reason, std::optional<milliseconds> deadline, worker_tasks tasks,
                    caller by, reply<result<worker_view>> done) override;
  void resume_worker(std::string name, reply<result<worker_view>> done) override;
  void remove_worker(std::string name, worker_tasks tasks, caller by, reply<result<worker_view>> done) override;
  void resize(operation_id id, std::uint16_t rows, std::uint16_t columns, reply<result<void>> done) override;
  void put_token(records::token_record record, reply<result<void>> done) override;
  void drop_token(token_id id, reply<result<void>> done) override;
  void audit(std::string action, std::string target, caller by, std::string via) override;
  void drop_old(old_things what, reply<bool> done) override;
  void on_event(std::function<void(const committed_event&)> listener) override;
  // Not played: there are no external operations, and nothing is created in bulk.
  void create_many(std::vector<create_order> orders, reply<std::vector<outcome<created>>> done) override {
    done(std::vector<outcome<created>>(orders.size(), tl::unexpected(none_here())));
  }
  void start_external(operation_id, caller, reply<outcome<operation_id>> done) override {
    done(tl::unexpected(none_here()));
  }
  void end_externals(std::vector<owner_report> reports, caller,
                     reply<std::vector<outcome<operation_id>>> done) override {
    done(std::vector<outcome<operation_id>>(reports.size(), tl::unexpected(none_here())));
  }
  void note_late_report(owner_report) override {}
  void heartbeat(renewal_order order, reply<renewal_answer> done) override {
    done({0, {}, {}, std::move(order.operations)});
  }
  void signal_of(operation_id, caller, reply<outcome<std::optional<external_signal>>> done) override {
    done(tl::unexpected(none_here()));
  }
  void signals_of(std::string, caller, reply<std::vector<external_signal>> done) override { done({}); }
  void on_signal(std::function<void(const external_signal&)>) override {}
  void branches(tree_question, reply<tree_page> done) override { done({}); }
  bool storage_low() const override;

 private:
  static refusal none_here() {
    return {{error_code::operation_not_found, "there are no external operations here", {}}, {}, {}};
  }
  void post(std::function<void()> work);
  void commit(std::vector<records::entry> batch);
  void run();
  records::event_record event_of(event_type type, const records::operation_record& row);
  void publish(records::event_record event, std::vector<records::entry> batch);
  operation_id insert(const create_order& order);
  bool lives(const cancel_order& order);
  template <class Change>
  void on_worker(const std::string& name, reply<result<worker_view>> done, Change change);

  std::unique_ptr<storage::journal> journal_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> work_;
  std::uint64_t committed_ = 0;
  bool stopping_ = false, low_ = false;
  std::function<void(const committed_event&)> listener_;
  std::uint64_t seq_ = 1, event_ = 1;
  std::map<operation_id, std::pair<records::operation_record, live_view>> live_;
  std::map<cancel_id, cancel_view> open_;
  std::map<std::string, worker_view> workers_;
  std::optional<refusal> next_refusal_;
  std::vector<create_order> creates_;
  std::vector<cancel_order> cancels_;
  std::vector<records::token_record> tokens_;
  std::vector<std::string> audits_;
  std::optional<std::pair<std::uint16_t, std::uint16_t>> resize_;
  std::thread thread_;
};

} // namespace quell::controller::test
