// Remembers the notes of workspaces, so that a turn costs a task only if something can have changed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "actors/turns/project_notes.hpp"
#include "protocol/time.hpp"

namespace quell::controller::turns {

/// A workspace, and how it is reached. Different values of `variant` never share what was read.
struct project_place {
  std::string key;     ///< `scope:SCOPE`, or `at:PATH`
  std::string variant; ///< the directory's name, or the user, the worker and the labels
};

/// Any thread. Bounded: when it is full it forgets everything that nobody waits for.
class project_memory {
 public:
  using notes = std::shared_ptr<const project_notes>; ///< nullptr: nothing is known
  using listener = std::function<void(notes)>;

  struct answer {
    enum class kind : std::uint8_t {
      known,  ///< `value` is fresh, or a read is late and `value` is the last one
      waits,  ///< another read is on its way; the listener was kept
      to_read ///< the listener was kept; read, then call `done`
    } what = kind::known;
    notes value;
  };
  /// `wait_at_most`: a read that is on its way for longer is not waited for.
  answer ask(const project_place& where, boot_time now, milliseconds wait_at_most, listener then);
  /// The read is over; nullptr: it failed, and what was known before stays. Nothing is read again until `fresh_until`,
  /// unless something changes. Calls the listeners.
  void done(const project_place& where, boot_time fresh_until, notes read);
  /// The notes read last, however old; nullptr = none.
  notes last(const project_place& where) const;
  /// A task that may write has run in it.
  void changed(const std::string& key);

  std::size_t bytes() const;

 private:
  struct entry {
    std::string variant;
    notes value;
    boot_time fresh_until{}, begun_at{};
    bool is_fresh = false, is_reading = false, has_changed = false;
    std::vector<listener> waiting;
  };
  void make_room();

  mutable std::mutex guard_;
  std::map<std::string, entry> entries_;
  std::size_t bytes_ = 0;
};

} // namespace quell::controller::turns
