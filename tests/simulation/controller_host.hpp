// quelld in virtual time: the production core behind its gate, fed as actors/controller_actor feeds it, on the
// simulated store and network. It can die between any two of its effects.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controller/commit_gate.hpp"
#include "tests/simulation/events.hpp"
#include "tests/simulation/random.hpp"

namespace quell::simulation {

struct world;

class controller_host final : public controller::commit_gate_edges {
 public:
  explicit controller_host(world& w);

  void start();
  /// Dies now, and restarts after `down_for`.
  void crash(instant down_for);
  /// Dies in the middle of its work: after this many more effects.
  void crash_after(std::uint64_t effects, instant down_for);
  /// Drops a planned crash.
  void spare() { effects_left_.reset(); }
  /// A planned stop: hands over, writes the pending rows, ends.
  void hand_over(instant down_for);

  void receive(std::size_t worker, const std::string& route, const std::string& bytes);
  /// One message to the actor; false (and nothing happens) while it is down.
  bool ask(const std::function<void(controller::commit_gate&, moment)>& what);
  bool lets_in(std::size_t worker) const;

  bool is_up() const { return gate_ != nullptr && !dying_; }
  bool quiet() const { return gate_ && gate_->quiet() && !gate_->dirty(); }
  controller::commit_gate* gate() { return gate_.get(); }
  /// It gives no work any more.
  bool hands_over() const { return leaving_; }
  std::uint64_t lives() const { return lives_; }
  moment now() const;
  /// An answer to a client is about to leave; false if the process has died by then.
  bool answers();

  // ---- commit_gate_edges
  std::uint64_t submit(std::vector<records::entry> batch) override;
  void refusal_known(std::uint64_t ticket) override;
  void send(const controller::outgoing_frame& frame) override;
  void publish(const records::event_record& event) override;
  void allow_keys(std::vector<std::string> public_keys) override;
  void output_expected(const operation_id&, const std::string&) override {}
  void output_counted(const operation_id&, const std::string&, const output_counts&) override {}
  void tell_owner(const controller::external_signal& signal) override;
  void output_closes(const operation_id& id) override;
  void signal(const controller::actor_signal& s) override;
  void ended(const controller::ended_operation& e) override;
  void command_given(const controller::command&) override {}
  void move_forbidden(const controller::forbidden_move& move, std::string_view requested_by) override;
  bool storage_low() const override;
  void ticked(moment) override {}
  void fail_stop(const fault& why) override;

 private:
  void after();
  void arm(std::optional<boot_time> next);
  void tick();
  void burst_over();
  void end_handler();
  void die(bool orderly);
  bool acts();
  void committed(const records::commit_notice& n);
  void finish_hand_over();

  world& world_;
  random_stream random_;
  machine_clock clock_;
  std::unique_ptr<controller::commit_gate> gate_;
  std::set<std::string> allowed_;
  std::uint64_t lives_ = 0, generation_ = 0, tick_failures_ = 0;
  std::optional<boot_time> timer_at_;
  std::optional<std::uint64_t> effects_left_;
  instant down_for_ = 500 * ms;
  bool burst_over_sent_ = false, dying_ = false, leaving_ = false, start_planned_ = false;
};

} // namespace quell::simulation
