// What speaks a service's language over one connection: pure, without sockets, threads, clocks or randomness. It is
// handed bytes and the time, and says what to send, what was said to it, and when it wants to be woken.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "integrations/chat/chat.hpp"
#include "protocol/time.hpp"

namespace quell::integrations::chat {

/// How long to stay away after a connection.
enum class redial : std::uint8_t {
  soon,  ///< the usual backoff
  slowly ///< the far side has refused us for a reason that a person must remove: the longest wait at once
};

struct hang_up_wish {
  std::string why;
  redial when = redial::soon;
};

/// Something heard, with a mark by which its decision is handed back.
struct heard_message {
  std::uint64_t mark = 0;
  said message;
};

/// A human's word on a call that waits for approval.
struct approval_word {
  std::uint64_t mark = 0; ///< of `approved`
  approval_order order;
};

/// One thread calls. After each call the caller takes what there is to take.
class service_session {
 public:
  virtual ~service_session() = default;

  // What happens to the connection:
  virtual void connected(boot_time now) = 0;
  virtual void received(std::string_view bytes, boot_time now) = 0;
  virtual void lost(const std::string& why, boot_time now) = 0;
  virtual void tick(boot_time now) = 0;
  // What quelld tells:
  virtual void told(const event& e, boot_time now) = 0;
  virtual void decided(std::uint64_t mark, const result<decision>& what, boot_time now) = 0;

  virtual void approved(std::uint64_t mark, const result<void>& what, boot_time now) = 0;

  // Over a restart:
  /// What an earlier life kept, ahead of everything else. Answers whose end may have been missed; say `looked` of each.
  virtual std::vector<operation_id> recall(std::string_view kept, boot_time now) = 0;
  virtual void looked(const operation_id& which, std::optional<status> how, boot_time now) = 0;
  virtual std::string to_keep() const = 0;
  /// Grows when `to_keep` becomes another.
  virtual std::uint64_t version() const = 0;

  // What it wants:
  /// Bytes to send, each once.
  virtual std::string to_send() = 0;
  virtual std::vector<heard_message> heard() = 0;
  virtual std::vector<approval_word> approvals() = 0;
  /// Hang up; taken once.
  virtual std::optional<hang_up_wish> wish() = 0;
  /// When `tick` is wanted at the latest; nullopt: no need.
  virtual std::optional<boot_time> due() const = 0;
  /// True once the far side has taken us: the next wait before a dial is short again.
  virtual bool is_up() const = 0;
  /// What is sent before an orderly end; "" if there is nothing to say good-bye to.
  virtual std::string farewell() = 0;
  /// One line for people, without secrets: "connected to irc.example as clanky, in #build".
  virtual std::string state() const = 0;
};

} // namespace quell::integrations::chat
