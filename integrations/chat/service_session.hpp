// A service's protocol over one connection: pure, without sockets, threads, clocks or randomness. It takes bytes and
// the time, and returns bytes to send, received messages, and the time of its next wake-up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "integrations/chat/chat.hpp"
#include "protocol/time.hpp"

namespace quell::integrations::chat {

/// The wait before the next connection.
enum class redial : std::uint8_t {
  soon,  ///< the usual back-off
  slowly ///< refused for a reason that a person must remove: start with the longest wait
};

struct disconnect_request {
  std::string why;
  redial when = redial::soon;
};

/// A received message, with the mark under which its decision is returned.
struct received_message {
  std::uint64_t mark = 0;
  incoming_message message;
  std::string key{}; ///< names it if it is changed later; "" = it cannot be
};

/// A person has corrected a message that became a request, or taken it back.
struct message_change {
  std::string key;
  std::optional<incoming_message> now{}; ///< its present form, with `key` as its id; none: it was taken back
  std::string stamp{};                   ///< distinct for each correction, the same if it is delivered again
  bool is_cancel = false;                ///< it is a word to stop now
};

/// A human's decision about a call that waits for approval.
struct approval_word {
  std::uint64_t mark = 0; ///< passed to `approved`
  approval_order order;
};

/// Called by one thread. After each call the caller collects the outputs.
class service_session {
 public:
  virtual ~service_session() = default;

  // Connection events:
  virtual void connected(boot_time now) = 0;
  virtual void received(std::string_view bytes, boot_time now) = 0;
  virtual void lost(const std::string& why, boot_time now) = 0;
  virtual void tick(boot_time now) = 0;
  // Input from quelld:
  virtual void on_event(const event& e, boot_time now) = 0;
  virtual void decided(std::uint64_t mark, const result<decision>& what, boot_time now) = 0;

  virtual void approved(std::uint64_t mark, const result<void>& what, boot_time now) = 0;
  /// Nothing more of this turn's reply is wanted.
  virtual void drop(const operation_id& turn, boot_time now) = 0;

  // Over a restart:
  // Restores what an earlier process stored, before any other call. Then come the stored events behind `last_event`,
  // `events_are_complete`, and `looked` for each of the returned operations. Nothing is sent to people before.
  virtual std::vector<operation_id> recall(std::string_view kept, boot_time now) = 0;
  virtual std::uint64_t last_event() const = 0;
  virtual void events_are_complete(std::uint64_t newest, bool is_whole, boot_time now) = 0;
  virtual void looked(const operation_id& which, std::optional<status> how, boot_time now) = 0;
  virtual std::string to_keep() const = 0;
  /// Grows whenever `to_keep` changes.
  virtual std::uint64_t version() const = 0;

  // Outputs:
  // Bytes to send, returned once.
  virtual std::string to_send() = 0;
  virtual std::vector<received_message> take_received() = 0;
  virtual std::vector<approval_word> approvals() = 0;
  virtual std::vector<message_change> take_changes() = 0;
  /// A request to disconnect; returned once.
  virtual std::optional<disconnect_request> disconnect_wanted() = 0;
  /// The latest time for the next `tick`; nullopt: none needed.
  virtual std::optional<boot_time> due() const = 0;
  /// True once the service has accepted us: the next back-off starts short again.
  virtual bool is_up() const = 0;
  /// The bytes to send before an orderly end; "" if there are none.
  virtual std::string farewell() = 0;
  /// One line for display, without secrets: "connected to irc.example as clanky, in #build".
  virtual std::string state() const = 0;
};

} // namespace quell::integrations::chat
