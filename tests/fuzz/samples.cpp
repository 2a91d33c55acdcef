// Frames as an honest cluster sends them.
#include "tests/fuzz/samples.hpp"

namespace quell::fuzz {

using namespace std::chrono_literals;

namespace {

const wall_time noon{1'795'000'000'000ms};
operation_id operation(std::uint8_t n) { return id_number<operation_id>(n); }
scope_path scope(const char* text) { return *scope_path::parse(text); }

wire::task_ended ended() {
  wire::task_ended m;
  m.operation = operation(1);
  m.stop_seq = 7;
  m.how = receipt::terminated;
  m.evidence = proof::cgroup_empty;
  m.exit = exit_state{std::nullopt, "TERM"};
  m.started_at = noon;
  m.ended_at = noon + 3s;
  m.output = {1812, 12, 0};
  m.left_total = 2;
  m.left = {{12, "S", "sleep 1000"}};
  return m;
}

wire::hello hello() {
  wire::hello h;
  h.software = "0.1.0";
  h.cluster = id_number<cluster_id>(9);
  h.epoch_seen = 1;
  h.seq_seen = 4;
  h.boot_id = "6f0e…";
  h.state_id = "state";
  h.incarnation = id_number<incarnation_id>(2);
  h.proposed = id_number<session_id>(3);
  h.slots = 4;
  h.labels = {{"os", "linux"}, {"gpu", "1"}};
  h.level = containment::cgroup_pidns;
  h.containment_limits = {"a task of the same uid can leave its cgroup"};
  h.host = "build-1";
  h.inventory = {{operation(1), wire::task_phase::running, 4242, noon, 0}};
  h.results = {ended()};
  return h;
}

wire::start start() {
  wire::start s;
  s.operation = s.root = operation(1);
  s.seq = s.as_of = 5;
  s.scope = scope("team/build");
  s.ancestors = {operation(2)};
  s.spec.command = {"bash", "-c", "make"};
  s.spec.cwd = "/srv";
  s.spec.env = {{"CI", "1"}};
  s.spec.on = {{"os", "linux"}};
  s.spec.lease = 60s;
  s.spec.least_containment = containment::cgroup;
  s.token = "qt_secret";
  s.deadline = noon + 1h;
  return s;
}

wire::stop stop() {
  wire::stop s;
  s.seq = s.cutoff = 8;
  s.cancel = id_number<cancel_id>(4);
  s.scope = scope("team");
  s.operations = {operation(1), operation(2)};
  s.grace = 2s;
  return s;
}

} // namespace

std::vector<wire::envelope> sample_frames() {
  wire::task_unproven unproven{
      operation(1), unproven_why::stuck_in_kernel, noon, 1, {{17, "D", "dd if=/dev/sr0"}}, next_action::kill_again,
      noon};
  const std::vector<wire::message> bodies = {
      hello(),
      wire::worker_heartbeat{3, 2},
      wire::task_started{operation(1), 4242, noon, containment::cgroup_pidns},
      wire::task_stopping{operation(1), 7, noon, noon + 2s},
      ended(),
      unproven,
      wire::farewell{"stopped by its user"},
      wire::welcome{1, id_number<cluster_id>(9), 1, "w1", 1s, 10s},
      wire::refuse{"lease_held", "another process holds this key", 3s},
      wire::lease_granted{3, 10s},
      start(),
      stop(),
      wire::results_stored{{operation(1)}},
      wire::handover{60s},
      wire::resize{operation(1), 24, 80},
      wire::acknowledge{true},
      wire::key_offer{std::string(40, 'a')},
      wire::controller_key_stored{std::string(40, 'b')},
      wire::key_taken{std::string(40, 'a'), "another worker has it"},
      wire::controller_key{std::string(40, 'b')},
  };
  std::vector<wire::envelope> all;
  for (const auto& body : bodies) all.push_back({id_number<session_id>(3), all.size() + 1, all.size(), body});
  return all;
}

std::vector<wire::bulk_message> sample_bulk() {
  return {wire::bulk_hello{id_number<session_id>(3)},
          wire::output{operation(1), stream::err, 12, "warning\n", true},
          wire::output_ack{operation(1), stream::out, 12, false},
          wire::input{operation(1), 0, "yes\n", false},
          wire::input_ack{operation(1), 4, false},
          wire::relay_open{1},
          wire::relay_data{1, "GET /v1/status HTTP/1.1\r\n\r\n"},
          wire::relay_credit{1, 65536},
          wire::relay_close{1, true}};
}

} // namespace quell::fuzz
