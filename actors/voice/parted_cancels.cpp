// Few at any time, so they are searched.
#include "actors/voice/parted_cancels.hpp"

namespace quell::controller::voice {

void parted_cancels::keep(const scope_path& scope, const std::string& author, boot_time now) {
  take(scope, author, now);
  all_.push_back({scope.text(), author, now + parted_cancel_lasts});
  if (all_.size() > most_parted_cancels) all_.pop_front();
}

bool parted_cancels::take(const scope_path& scope, const std::string& author, boot_time now) {
  std::erase_if(all_, [now](const parted& one) { return one.until <= now; });
  return std::erase_if(all_, [&](const parted& one) { return one.scope == scope.text() && one.author == author; }) > 0;
}

} // namespace quell::controller::voice
