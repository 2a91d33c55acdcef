// The slots that guilds with a limit hold, the task of each that waits for room, and the lines in which their tasks
// wait. A guild is here named by its scope, or by the token that takes its place. Guilds without a limit are not kept.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>

#include "controller/ledger/interner.hpp"
#include "controller/slot_limits.hpp"

namespace quell::controller::live {

class guild_shares {
 public:
  struct share {
    std::uint32_t tasks = 0;       ///< live ones
    std::uint32_t held = 0;        ///< slots
    index first = none;            ///< the task that found no room
    std::uint32_t first_needs = 0; ///< slots
  };

  /// `most_of_each`: slots that one guild may hold; 0 = any number. `of_some` holds for the guilds that it names.
  guild_shares(std::uint32_t most_of_each, slots_by_guild of_some)
      : most_of_each_(most_of_each), of_some_(std::move(of_some)) {}

  /// No guild has a limit.
  bool is_off() const { return most_of_each_ == 0 && of_some_.empty(); }
  /// Also guilds that are not named have a limit.
  bool is_for_all() const { return most_of_each_ > 0; }
  /// 0 = any number.
  std::uint32_t most_of(const std::string& guild) const;
  const slots_by_guild& limits() const { return of_some_; }
  /// Returns the earlier ones. Guilds that have a limit now and had none, or the reverse, must have their live tasks
  /// enter anew.
  slots_by_guild limit(slots_by_guild of_some);

  /// One more live task: its line. A guild with a limit shares its line with no other, because it rests as a whole;
  /// those without meet by hash.
  std::uint16_t enter(const std::string& guild);
  /// One less.
  void leave(const std::string& guild, index task);
  /// The task will not start any more, although it is still live: it does not come first any more.
  void give_way(const std::string& guild, index task);
  void take(const std::string& guild, std::uint32_t slots);
  void give_back(const std::string& guild, std::uint32_t slots);
  /// False if the guild would hold more than it may with this task; one that holds none may take any number. Then the
  /// task comes first: until there is room for it, or its own work is over, the guild's others get none, so that small
  /// tasks do not keep a large one waiting.
  bool may_take(const std::string& guild, index task, std::uint32_t slots);
  /// Grows when one that came first may be asked about again, or gives way.
  std::uint64_t room() const { return room_; }

  const std::unordered_map<std::string, share>& all() const { return shares_; }

 private:
  void wake(share& of);

  std::uint32_t most_of_each_ = 0;
  slots_by_guild of_some_;
  std::unordered_map<std::string, share> shares_; ///< of guilds with a limit and live tasks
  interner<std::string> lines_;                   ///< theirs
  std::uint64_t room_ = 0;
};

} // namespace quell::controller::live
