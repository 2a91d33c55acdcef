// The datagrams between a worker and its guardian: both ends come from one build, so the encoding is plain bytes in
// host order.
//
// Worker to guardian: one request per datagram, with file descriptors beside it. Guardian to worker: any number of
// events per datagram.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "worker/guardian/client.hpp"

namespace quell::worker {

/// A larger encoded body of a request travels in a memfd, so that no datagram exceeds a socket's buffer.
inline constexpr std::size_t inline_request_bytes = 48 * 1024;
/// Limit for argv, environment and directory of one task together.
inline constexpr std::size_t request_limit_bytes = 4 * 1024 * 1024;
inline constexpr std::size_t datagram_limit_bytes = 64 * 1024;

enum class request_tag : std::uint8_t { spawn = 1, stop, lease, look };
enum class event_tag : std::uint8_t {
  report = 1,
  launch_failed,
  held,
  spawn_failed,
  executing,
  exec_failed,
  leader_exited,
  ended,
  still_there
};

/// Appends plain values to a byte string.
class byte_writer {
 public:
  template <class T>
  void put(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void put_id(const operation_id& id) {
    bytes_.append(reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size());
  }
  /// Writes length, bytes and a NUL, so that a reader can point into the buffer.
  void put_text(std::string_view text);
  const std::string& bytes() const { return bytes_; }
  std::string& bytes() { return bytes_; }

 private:
  std::string bytes_;
};

/// Reads the values that `byte_writer` wrote; after the first short read `ok` is false and every value is empty.
class byte_reader {
 public:
  explicit byte_reader(std::string_view bytes) : rest_(bytes) {}
  template <class T>
  T take() {
    if constexpr (std::is_same_v<T, bool>) { // a bool with any other byte than 0 or 1 is undefined
      return take<std::uint8_t>() != 0;
    } else {
      T value{};
      if (auto piece = chunk(sizeof value); piece.size() == sizeof value)
        __builtin_memcpy(&value, piece.data(), sizeof value);
      if constexpr (requires { names_of<T>::list; })
        if (static_cast<std::size_t>(value) >= count_of<T>()) return refuse(), T{};
      return value;
    }
  }
  operation_id take_id();
  /// Points into the buffer, where a NUL follows it.
  std::string_view take_text();
  bool ok() const { return ok_; }
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view chunk(std::size_t size);
  void refuse() {
    ok_ = false;
    rest_ = {};
  }
  std::string_view rest_;
  bool ok_ = true;
};

/// The fixed part of a spawn; `directory`, argv, environment and the user follow as texts.
struct spawn_header {
  operation_id operation;
  bool pty = false;
  bool in_memfd = false; ///< the texts are in a memfd, the fifth descriptor
  int stop_signal = 0;
  on_leader_exit leader_exit = on_leader_exit::wait;
  std::int64_t lease_ms = -1; ///< -1: the worker's
  std::uint8_t secrets = 0;   ///< descriptors of their memory files, after all others
};

struct stop_order {
  operation_id operation;
  bool held = false; ///< the worker had not given the go: it must never exec
  boot_time kill_at;
  std::int64_t signal_at_ns = -1; ///< -1: now
};

std::string encode_spawn_texts(const spawn_request& r);
std::string encode_spawn(const spawn_header& header, std::string_view texts);
spawn_header take_spawn_header(byte_reader& in);
std::string encode_stop(const stop_order& order);
stop_order take_stop(byte_reader& in);

/// Encodes an event as one piece of a datagram.
void put_event(byte_writer& out, const guardian_event& event);
/// The guardian's first message: its report, or why it cannot start.
std::string encode_report(const containment_report& report);
std::string encode_launch_failure(std::string_view why);
result<containment_report> decode_report(std::string_view datagram);
/// All events of a datagram; a malformed rest is dropped.
std::vector<guardian_event> decode_events(std::string_view datagram);

/// TERM → 15; 0 for an unknown signal. The reverse function gives "RTMIN+n" style names as plain numbers.
int signal_number(std::string_view name);
std::string signal_name(int number);

} // namespace quell::worker
