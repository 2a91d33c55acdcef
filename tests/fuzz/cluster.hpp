// A controller's core with one honest and one hostile worker, for targets that feed it frames. The journal takes every
// batch; the honest worker obeys; everything that leaves is recorded.
#pragma once

#include <map>

#include "controller/commit_gate.hpp"
#include "protocol/channel.hpp"
#include "tests/fuzz/samples.hpp"
#include "tests/fuzz/target.hpp"

namespace quell::fuzz {

/// Records what left the core, and checks that nothing forbidden does.
class recorder final : public controller::commit_gate_edges {
 public:
  std::uint64_t tickets = 0;
  std::vector<controller::outgoing_frame> sent;
  std::map<operation_id, int> terminal_events;
  std::map<operation_id, std::map<std::string, output_counts>> counted;

  std::uint64_t submit(std::vector<records::entry> batch) override;
  void send(const controller::outgoing_frame& frame) override { sent.push_back(frame); }
  void publish(const records::event_record& event) override;
  void allow_keys(std::vector<std::string>) override {}
  void output_expected(const operation_id&, const std::string&) override {}
  void output_closes(const operation_id&) override {}
  bool storage_low() const override { return false; }
  void ticked(moment) override {}
  void refusal_known(std::uint64_t) override {}
  void output_counted(const operation_id& id, const std::string& worker, const output_counts& counts) override {
    counted[id][worker] = counts;
  }
  void signal(const controller::actor_signal&) override {}
  void tell_owner(const controller::external_signal&) override {}
  void ended(const controller::ended_operation&) override {}
  void command_given(const controller::command&) override {}
  void move_forbidden(const controller::forbidden_move&, std::string_view) override {} // the hostile worker lies
  void fail_stop(const fault& why) override { broken(why.detail); }
};

struct cluster {
  static constexpr const char* honest_route = "route of w1";
  static constexpr const char* hostile_route = "route of w2";

  recorder edges;
  moment now{wall_time{milliseconds{1'795'000'000'000}}, boot_time{1'000'000'000'000}};
  std::string honest_key = std::string(40, 'a'), hostile_key = std::string(40, 'b');
  session_id honest_session = id_number<session_id>(101), hostile_session = id_number<session_id>(102);
  std::unique_ptr<controller::commit_gate> core;
  channel_receiver honest_received;
  std::uint64_t honest_sent = 0, beats = 0;
  std::vector<wire::message> honest_got; ///< numbered frames, each once, in order

  cluster();

  /// Everything submitted is on disk, and w1 reads and acknowledges the frames that arrived for it.
  void settle();
  void pass(milliseconds time);
  void hostile(const wire::envelope& frame, const char* route = hostile_route);
  void honest(wire::message body, bool numbered = true);
  void create(std::uint8_t id, const char* scope, const char* worker, std::uint8_t parent = 0);
  void cancel(const char* scope);
  std::optional<controller::live_view> view(std::uint8_t id);
  controller::worker_view worker(const char* name);

 private:
  void deliver_to_honest();
  wire::hello hello(session_id session, const char* state) const;
  std::size_t read_ = 0;
};

} // namespace quell::fuzz
