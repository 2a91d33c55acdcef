// The people of all live conversations, each with a scope. On the loop's thread.
#pragma once

#include <cstdint>
#include <list>
#include <string>

#include "protocol/scope.hpp"

namespace quell::controller::voice {

class presence {
 private:
  struct visit {
    scope_path scope;
    std::string author; ///< id
  };

 public:
  using place = std::list<visit>::iterator;

  place enter(const scope_path& scope, const std::string& author) {
    return all_.insert(all_.end(), visit{scope, author});
  }
  void leave(place which) { all_.erase(which); }
  /// Distinct authors at or below `scope`: a stop of it reaches the work of them all.
  std::uint32_t people_in(const scope_path& scope) const;

 private:
  std::list<visit> all_;
};

} // namespace quell::controller::voice
