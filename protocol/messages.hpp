// All messages between controller and worker, in one place. There are two sockets: `message` travels on control,
// `bulk_message` on bulk.
//
// Each message has a tag that is never reused; on the wire it is a msgpack array of its fields in the order of
// `inspect`. Fields may be appended, never moved: a reader fills missing fields with the default and ignores extra
// ones. The channel (channel.hpp) numbers the control frames of one session, so a cancel never overtakes a start.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "protocol/id.hpp"
#include "protocol/scope.hpp"
#include "protocol/task.hpp"
#include "protocol/time.hpp"
#include "protocol/vocabulary.hpp"

namespace quell::wire {

/// Increases if an old peer could misread a new one. It is the first field of `hello`, so that any version can refuse
/// any other politely.
inline constexpr std::uint32_t protocol_version = 1;

#define QUELL_INSPECT(Type, ...)                                                                                       \
  template <class Inspector>                                                                                           \
  friend auto inspect(Inspector& f, Type& x) {                                                                         \
    return f(__VA_ARGS__);                                                                                             \
  }                                                                                                                    \
  friend bool operator==(const Type&, const Type&) = default

// ---- worker to controller, control ------------------------------------------------------------------------------

/// The phase of a task that a worker reports in its hello.
enum class task_phase : std::uint8_t { held, running, stopping };

} // namespace quell::wire

template <>
struct quell::names_of<quell::wire::task_phase> {
  static constexpr auto list = std::to_array<std::string_view>({"held", "running", "stopping"});
};

namespace quell::wire {

struct inventory_item {
  operation_id operation;
  task_phase phase = task_phase::held;
  std::int32_t pid = 0;       ///< 0 = not cloned yet
  wall_time started_at{};     ///< when the go was given; epoch = not yet
  std::uint64_t stop_seq = 0; ///< seq of the stop applied to it; 0 = none
  QUELL_INSPECT(inventory_item, x.operation, x.phase, x.pid, x.started_at, x.stop_seq);
};

/// The go was given: the command is being executed.
struct task_started {
  static constexpr std::uint16_t tag = 3;
  operation_id operation;
  std::int32_t pid = 0; ///< as the worker's host sees it
  wall_time at{};
  containment level = containment::group;
  QUELL_INSPECT(task_started, x.operation, x.pid, x.at, x.level);
};

/// A stop was applied to a live task and its signal was sent.
struct task_stopping {
  static constexpr std::uint16_t tag = 4;
  operation_id operation;
  std::uint64_t stop_seq = 0;
  wall_time signalled_at{};
  wall_time kill_at{};
  QUELL_INSPECT(task_stopping, x.operation, x.stop_seq, x.signalled_at, x.kill_at);
};

/// The end of a task with proof: its containment is empty, or it never ran. The worker keeps it until `results_stored`.
struct task_ended {
  static constexpr std::uint16_t tag = 5;
  operation_id operation;
  std::uint64_t stop_seq = 0; ///< the stop that had been applied *before* the end was seen; 0 = it ended by itself
  std::optional<receipt> how; ///< set if stop_seq is
  proof evidence = proof::exit_status;
  std::optional<exit_state> exit; ///< of the leader; nullopt = it never ran
  std::string error_code;         ///< "" or start_failed, worker_lost (swept by a later incarnation)
  std::string error_message;
  wall_time started_at{}; ///< epoch = never started
  wall_time ended_at{};
  output_counts output;
  std::uint32_t left_total = 0;   ///< processes that the leader left running and that were killed (on_leader_exit=kill)
  std::vector<process_view> left; ///< the first of them, at most 20
  QUELL_INSPECT(task_ended, x.operation, x.stop_seq, x.how, x.evidence, x.exit, x.error_code, x.error_message,
                x.started_at, x.ended_at, x.output, x.left_total, x.left);
};

/// A stopped task that is not gone yet; sent at each change, and about once a second after the kill.
struct task_unproven {
  static constexpr std::uint16_t tag = 6;
  operation_id operation;
  unproven_why why = unproven_why::in_grace;
  wall_time since{};
  std::uint32_t processes_total = 0;
  std::vector<process_view> processes; ///< at most 20
  next_action next = next_action::kill;
  wall_time next_at{};
  QUELL_INSPECT(task_unproven, x.operation, x.why, x.since, x.processes_total, x.processes, x.next, x.next_at);
};

/// First message of a session, sent as frame 0. The worker is identified by its CURVE key, not by any field of the
/// hello.
struct hello {
  static constexpr std::uint16_t tag = 1;
  std::uint32_t version = protocol_version;
  std::string software;              ///< "0.1.0"
  std::optional<cluster_id> cluster; ///< the cluster to which it has belonged since its first welcome
  std::uint64_t epoch_seen = 0;      ///< the highest controller epoch that it has seen
  std::uint64_t seq_seen = 0;        ///< the highest seq that it has seen
  std::string boot_id;               ///< /proc/sys/kernel/random/boot_id
  std::string state_id;              ///< made once per state directory, whose lock only one process holds
  incarnation_id incarnation;
  session_id proposed; ///< the session's id: chosen by the worker, fresh each time
  std::uint32_t slots = 0;
  std::map<std::string, std::string> labels; ///< the configured labels and os, arch, host
  containment level = containment::group;
  std::vector<std::string> containment_limits; ///< sentences for people
  std::string host;
  std::vector<inventory_item> inventory;
  std::vector<task_ended> results; ///< the unacknowledged ones
  bool absence_is_proof = false;   ///< false: tasks that it no longer knows can still run (a guardian was killed)
  std::string trouble;             ///< why it cannot start tasks now; "" = it can
  bool knows_keys = false;         ///< it understands controller_key
  std::uint64_t life = 0;          ///< its number among the lives of its state directory, ascending; 0 = not known
  QUELL_INSPECT(hello, x.version, x.software, x.cluster, x.epoch_seen, x.seq_seen, x.boot_id, x.state_id, x.incarnation,
                x.proposed, x.slots, x.labels, x.level, x.containment_limits, x.host, x.inventory, x.results,
                x.absence_is_proof, x.trouble, x.knows_keys, x.life);
};

/// Asks for the lease. Sent only by the loop that applies cancels. Unnumbered.
struct worker_heartbeat {
  static constexpr std::uint16_t tag = 2;
  std::uint64_t beat = 0;
  std::uint64_t applied = 0; ///< the highest frame number applied in this session
  QUELL_INSPECT(worker_heartbeat, x.beat, x.applied);
};

/// The worker leaves on purpose; none of its tasks is alive.
struct farewell {
  static constexpr std::uint16_t tag = 7;
  std::string why;
  QUELL_INSPECT(farewell, x.why);
};

/// The worker wants to use another key from now on. Sent only from the state directory that first used the present key.
struct key_offer {
  static constexpr std::uint16_t tag = 8;
  std::string public_key; ///< Z85
  QUELL_INSPECT(key_offer, x.public_key);
};

/// The worker has stored the controller's next key, and accepts either key when it reconnects.
struct controller_key_stored {
  static constexpr std::uint16_t tag = 9;
  std::string public_key; ///< Z85
  QUELL_INSPECT(controller_key_stored, x.public_key);
};

// ---- controller to worker, control ------------------------------------------------------------------------------

/// Answer to an accepted hello. Frame 1 of the session; everything before it is void.
struct welcome {
  static constexpr std::uint16_t tag = 20;
  std::uint32_t version = protocol_version;
  cluster_id cluster;
  std::uint64_t epoch = 0;
  std::string worker; ///< the name under which the key is enrolled
  milliseconds heartbeat{1000};
  milliseconds lease{10000}; ///< counts from the sending of the hello
  bool takes_keys = false;   ///< it understands key_offer
  QUELL_INSPECT(welcome, x.version, x.cluster, x.epoch, x.worker, x.heartbeat, x.lease, x.takes_keys);
};

/// Answer to a refused hello; unnumbered. code: a `refusal_code`; session_over also answers a heartbeat of a session
/// that is unknown or over
struct refuse {
  static constexpr std::uint16_t tag = 21;
  std::string code;
  std::string message;         ///< what is wrong, why, what to do
  milliseconds retry_after{0}; ///< 0 = do not reconnect
  QUELL_INSPECT(refuse, x.code, x.message, x.retry_after);
};

/// The answer to heartbeat `beat`: the worker may live until (sending of that beat + length). Unnumbered.
struct lease_granted {
  static constexpr std::uint16_t tag = 22;
  std::uint64_t beat = 0;
  milliseconds length{10000};
  QUELL_INSPECT(lease_granted, x.beat, x.length);
};

/// Start this task. Carries everything that the worker needs to decide alone whether the start is stale.
struct start {
  static constexpr std::uint16_t tag = 23;
  operation_id operation;
  std::uint64_t seq = 0;
  std::uint64_t as_of = 0;
  scope_path scope;
  operation_id root;
  std::vector<operation_id> ancestors; ///< nearest first, up to the root or up to a detached edge
  task_spec spec;
  milliseconds grace{2000};
  std::string token;                 ///< QUELL_TOKEN, a secret
  std::optional<wall_time> deadline; ///< QUELL_DEADLINE
  QUELL_INSPECT(start, x.operation, x.seq, x.as_of, x.scope, x.root, x.ancestors, x.spec, x.grace, x.token, x.deadline);
};

/// Stop everything in `scope` with as_of <= cutoff, and each of `operations` with everything below it. Closes them for
/// later starts, too. Applied when acknowledged. A repeat (same seq) may only bring the kill nearer.
struct stop {
  static constexpr std::uint16_t tag = 24;
  std::uint64_t seq = 0;
  std::optional<cancel_id> cancel; ///< nullopt for causes other than a cancel
  stop_cause cause = stop_cause::cancel;
  std::optional<scope_path> scope;
  std::uint64_t cutoff = 0; ///< with scope
  std::vector<operation_id> operations;
  std::optional<milliseconds> grace; ///< nullopt = each task's own; 0 = kill at once
  QUELL_INSPECT(stop, x.seq, x.cancel, x.cause, x.scope, x.cutoff, x.operations, x.grace);
};

/// These results are durable; the worker can forget them.
struct results_stored {
  static constexpr std::uint16_t tag = 25;
  std::vector<operation_id> operations;
  QUELL_INSPECT(results_stored, x.operations);
};

/// Planned stop of the controller: it answers no more heartbeats, and the lease is `lease` long, counted from the last
/// answered one.
struct handover {
  static constexpr std::uint16_t tag = 26;
  milliseconds lease{60000};
  QUELL_INSPECT(handover, x.lease);
};

/// New window size of a PTY.
struct resize {
  static constexpr std::uint16_t tag = 27;
  operation_id operation;
  std::uint16_t rows = 24;
  std::uint16_t columns = 80;
  QUELL_INSPECT(resize, x.operation, x.rows, x.columns);
};

/// The answer to a key_offer, durable. Both keys are valid until the first hello with the offered key is accepted.
struct key_taken {
  static constexpr std::uint16_t tag = 28;
  std::string public_key; ///< the offered one
  std::string refusal;    ///< why it is refused; "" = accepted
  QUELL_INSPECT(key_taken, x.public_key, x.refusal);
};

/// The controller will use another key. The worker stores it beside the present one, then confirms it.
struct controller_key {
  static constexpr std::uint16_t tag = 29;
  std::string public_key; ///< Z85
  QUELL_INSPECT(controller_key, x.public_key);
};

/// Only an acknowledgement (the envelope carries it). Unnumbered, either direction.
struct acknowledge {
  static constexpr std::uint16_t tag = 40;
  bool resend = false; ///< a gap was seen: resend from ack + 1
  QUELL_INSPECT(acknowledge, x.resend);
};

using message = std::variant<hello, worker_heartbeat, task_started, task_stopping, task_ended, task_unproven, farewell,
                             key_offer, controller_key_stored, welcome, refuse, lease_granted, start, stop,
                             results_stored, handover, resize, key_taken, controller_key, acknowledge>;

/// A control frame. `number` 0 = unnumbered (outside the ordered channel); numbered frames of a direction count 1, 2, 3
/// … `ack` = highest number of the other direction that was *applied*. Frames of another session are dropped unread.
struct envelope {
  session_id session;
  std::uint64_t number = 0;
  std::uint64_t ack = 0;
  message body;
  friend bool operator==(const envelope&, const envelope&) = default;
};

// ---- bulk: output, input and relayed HTTP; order matters only within one operation's stream or one connection ------

/// First message on the bulk socket, and again after each new control session. The controller answers with an
/// output_ack for the output that it has.
struct bulk_hello {
  static constexpr std::uint16_t tag = 60;
  session_id session;
  QUELL_INSPECT(bulk_hello, x.session);
};

/// Bytes that a task wrote. `offset` counts all bytes ever written to this stream; a jump means that bytes were
/// dropped.
struct output {
  static constexpr std::uint16_t tag = 61;
  operation_id operation;
  stream which = stream::out;
  std::uint64_t offset = 0;
  std::string bytes; ///< at most 64 KiB
  bool end = false;  ///< end of this stream
  QUELL_INSPECT(output, x.operation, x.which, x.offset, x.bytes, x.end);
};

/// The controller has written everything below `offset` to its file. `unknown` = it does not know the operation: forget
/// the output.
struct output_ack {
  static constexpr std::uint16_t tag = 62;
  operation_id operation;
  stream which = stream::out;
  std::uint64_t offset = 0;
  bool unknown = false;
  QUELL_INSPECT(output_ack, x.operation, x.which, x.offset, x.unknown);
};

/// Bytes for a task's stdin or PTY. A repeat (offset below the bytes already taken) is skipped.
struct input {
  static constexpr std::uint16_t tag = 63;
  operation_id operation;
  std::uint64_t offset = 0;
  std::string bytes; ///< at most 64 KiB
  bool end = false;
  QUELL_INSPECT(input, x.operation, x.offset, x.bytes, x.end);
};

/// The worker has passed everything below `offset` to the task. `closed` = the task no longer reads.
struct input_ack {
  static constexpr std::uint16_t tag = 64;
  operation_id operation;
  std::uint64_t offset = 0;
  bool closed = false;
  QUELL_INSPECT(input_ack, x.operation, x.offset, x.closed);
};

/// A process on the worker's host connected to the relay. `connection` increases per bulk session.
struct relay_open {
  static constexpr std::uint16_t tag = 65;
  std::uint64_t connection = 0;
  QUELL_INSPECT(relay_open, x.connection);
};

/// Bytes of a relayed connection, either direction. Each side may send 256 KiB that `relay_credit` has not
/// acknowledged.
struct relay_data {
  static constexpr std::uint16_t tag = 66;
  std::uint64_t connection = 0;
  std::string bytes; ///< at most 64 KiB
  QUELL_INSPECT(relay_data, x.connection, x.bytes);
};

/// Permits more bytes on this connection.
struct relay_credit {
  static constexpr std::uint16_t tag = 67;
  std::uint64_t connection = 0;
  std::uint64_t bytes = 0; ///< consumed since the last credit
  QUELL_INSPECT(relay_credit, x.connection, x.bytes);
};

/// `half` = the sender no longer writes but still reads (a shutdown of one direction); otherwise the connection is
/// over.
struct relay_close {
  static constexpr std::uint16_t tag = 68;
  std::uint64_t connection = 0;
  bool half = false;
  QUELL_INSPECT(relay_close, x.connection, x.half);
};

using bulk_message =
    std::variant<bulk_hello, output, output_ack, input, input_ack, relay_open, relay_data, relay_credit, relay_close>;

#undef QUELL_INSPECT

} // namespace quell::wire
