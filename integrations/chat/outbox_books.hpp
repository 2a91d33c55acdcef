// The insides of an outbox: places, their parts in order, and the replies that they belong to. Pure.
#pragma once

#include <deque>
#include <list>
#include <map>
#include <unordered_map>
#include <utility>

#include "integrations/chat/outbox.hpp"

namespace quell::integrations::chat {

enum class part_kind : std::uint8_t { reply, note, left_out, approval, acknowledgement, reaction };

/// One message of the service: as it should be, and as it is shown.
struct part {
  part_kind what = part_kind::note;
  std::optional<operation_id> turn{};
  std::string text{};     ///< that should be shown
  std::string status{};   ///< a line below it that comes and goes: a tool that runs
  std::string mark{};     ///< a line below it that stays: stopped
  bool is_open = false;   ///< more text may come
  bool is_doomed = false; ///< of a stopped turn: if it is not shown yet it never will be
  std::string message{};  ///< reaction: of whom; else once posted: the service's id
  std::string reply_to{};
  std::optional<question> asks{};
  // What the service shows:
  bool is_posted = false;
  std::string shown{};
  std::size_t sent_bytes = 0; ///< of `text`
  bool is_shown_live = false;
  boot_time shown_at{};

  bool is_urgent() const { return what == part_kind::acknowledgement || what == part_kind::reaction; }
  bool is_live() const { return what == part_kind::reply ? is_open : asks && asks->is_open; }
};

/// The action in flight of a place.
struct flight {
  std::uint64_t number = 0;
  std::list<part>::iterator of;
  action_kind what = action_kind::post;
  std::string text{};
  std::size_t text_bytes = 0;
  bool is_live = false;
};

struct place {
  explicit place(pace p) : tokens(p) {}

  std::list<part> parts{}; ///< in the order in which they are to be shown, urgent ones first
  std::optional<flight> flying{};
  bucket tokens;
  boot_time not_before{};
  unsigned failures = 0; ///< in a row
  boot_time failing_since{};
  boot_time touched{};
  std::deque<std::pair<message_id, std::string>> heard{}; ///< the newest messages, with the service's ids
  std::deque<message_id> acknowledged{};                  ///< the newest stops to which a word or a reaction was added
};

struct reply {
  scope_path scope;
  std::uint64_t received = 0; ///< code points
  bool is_over = false;       ///< dropped: whatever else is told of it is not shown
  bool has_part = false;
  std::string reply_to{};
};

struct outbox::books {
  explicit books(outbox_rules r) : rules(std::move(r)), tokens(rules.of_all) {}

  outbox_rules rules;
  std::map<scope_path, place> places;
  std::unordered_map<operation_id, reply> replies;
  bucket tokens;
  boot_time not_before{};
  std::uint64_t last_event = 0;
  std::uint64_t last_number = 0;
  std::uint64_t dropped = 0;
  std::optional<scope_path> last_served{};

  using position = std::list<part>::iterator;

  // Parts:
  place& at(const scope_path& scope, boot_time now);
  std::string rendered(const part& p) const;
  bool needs_action(const part& p) const;
  void append(place& to, const operation_id& turn, reply& r, std::string_view text);
  void close(place& in, const operation_id& turn);
  part& add(place& to, part p);
  void add_urgent(place& to, part p);
  void drop(place& in, const operation_id& turn);
  void drop_parts(place& in);
  void freeze(place& in, position p);
  void sweep(place& in);
  void bound(place& in);
  std::string one_message(std::string_view text) const;
  bool is_flying(const place& in, position p) const { return in.flying && in.flying->of == p; }

  // Sending:
  struct next_step {
    position part;
    boot_time at;
  };
  std::optional<next_step> next(place& in, boot_time now);
  action send(const scope_path& scope, place& in, position p, boot_time now);

 private:
  position open_part(place& in, const operation_id& turn);
  position split(place& in, position p);
  void forget_one();
};

} // namespace quell::integrations::chat
