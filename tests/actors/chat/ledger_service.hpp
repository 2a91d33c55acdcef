// A controller service that is a ledger without a journal: what it accepts counts at once. Of the orders it takes
// cancels only.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "controller/ledger.hpp"
#include "controller/service.hpp"

namespace quell::controller::chat::testing {

class ledger_service final : public service {
 public:
  /// A turn that waits at `scope`.
  operation_id turn_at(const std::string& scope) {
    create_order order;
    order.by.owner = {"mia", "Mia"};
    order.kind = kind::turn;
    order.scope = *scope_path::parse(scope);
    order.start = start_when::later;
    return core_->create(order, operation_id::fresh(), now_)->id;
  }
  /// Whether no stop has reached it.
  bool goes_on(const operation_id& id) const {
    const auto view = core_->view(id, now_);
    return view && !view->hot.stop && view->hot.now == status::pending;
  }

  void cancel(cancel_order order, reply<outcome<cancel_view>> done) override {
    auto answer = core_->cancel(order, cancel_id::fresh(), now_);
    if (answer) core_->cancel_fenced(answer->record.id, true, now_);
    while (core_->step(now_)) {
    }
    core_->take();
    done(std::move(answer));
  }

  void create(create_order, reply<outcome<created>> done) override { done(tl::unexpected(not_here())); }
  void create_many(std::vector<create_order>, reply<std::vector<outcome<created>>> done) override { done({}); }
  void cancel_claimed(cancel_order, may_target, std::shared_ptr<order_claim>,
                      reply<outcome<cancel_view>> done) override {
    done(tl::unexpected(not_here()));
  }
  void declare_dead(operation_id, std::string, caller, reply<outcome<operation_id>> done) override {
    done(tl::unexpected(not_here()));
  }
  void declare_worker_dead(std::string, std::string, caller, reply<outcome<std::size_t>> done) override {
    done(tl::unexpected(not_here()));
  }
  void start_external(operation_id, caller, reply<outcome<operation_id>> done) override {
    done(tl::unexpected(not_here()));
  }
  void end_externals(std::vector<owner_report>, caller, reply<std::vector<outcome<operation_id>>> done) override {
    done({});
  }
  void note_late_report(owner_report) override {}
  void heartbeat(renewal_order, reply<renewal_answer> done) override { done({}); }
  void signal_of(operation_id, caller, reply<outcome<std::optional<external_signal>>> done) override {
    done(tl::unexpected(not_here()));
  }
  void signals_of(std::string, caller, reply<std::vector<external_signal>> done) override { done({}); }
  void on_signal(std::function<void(const external_signal&)>) override {}
  void views(std::vector<operation_id>, reply<std::vector<std::optional<live_view>>> done) override { done({}); }
  void view_cancel(cancel_id, reply<std::optional<cancel_view>> done) override { done(std::nullopt); }
  void scopes(std::optional<scope_path>, listed_scopes, std::optional<scope_path>, std::size_t,
              reply<std::vector<scope_view>> done) override {
    done({});
  }
  void branches(tree_question, reply<tree_page> done) override { done({}); }
  void cluster(reply<cluster_view> done) override { done({}); }
  void workers(reply<std::vector<worker_view>> done) override { done({}); }
  void worker(std::string, reply<std::optional<worker_view>> done) override { done(std::nullopt); }
  void enrol_worker(std::string, std::string, std::map<std::string, std::string>,
                    reply<result<worker_view>> done) override {
    done(tl::unexpected(fault(not_here().error)));
  }
  void drain_worker(std::string, std::string, std::optional<milliseconds>, worker_tasks, caller,
                    reply<result<worker_view>> done) override {
    done(tl::unexpected(fault(not_here().error)));
  }
  void resume_worker(std::string, reply<result<worker_view>> done) override {
    done(tl::unexpected(fault(not_here().error)));
  }
  void remove_worker(std::string, worker_tasks, caller, reply<result<worker_view>> done) override {
    done(tl::unexpected(fault(not_here().error)));
  }
  void resize(operation_id, std::uint16_t, std::uint16_t, reply<result<void>> done) override { done({}); }
  void put_token(records::token_record, reply<result<void>> done) override { done({}); }
  void drop_token(token_id, reply<result<void>> done) override { done({}); }
  void audit(std::string, std::string, caller, std::string) override {}
  void drop_old(old_things, reply<bool> done) override { done(false); }
  void on_event(std::function<void(const committed_event&)>) override {}
  bool storage_low() const override { return false; }

 private:
  static refusal not_here() { return {{error_code::internal, "not part of this test", {}}, {}, {}}; }

  const moment now_{wall_time{milliseconds{1'790'000'000'000}}, boot_time{1'000'000'000'000}};
  const std::unique_ptr<ledger> core_ = ledger::make({}, {}, now_);
};

} // namespace quell::controller::chat::testing
