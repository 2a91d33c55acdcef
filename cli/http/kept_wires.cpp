// Keeps few connections for a short time.
#include "cli/http/kept_wires.hpp"

namespace quell::cli {

std::shared_ptr<wire> kept_wires::take(const std::string& key, instant now) {
  drop_old(now);
  for (auto i = all_.size(); i-- > 0;) {
    if (all_[i].key != key) continue;
    auto found = std::move(all_[i].connection);
    all_.erase(all_.begin() + static_cast<std::ptrdiff_t>(i));
    if (found->is_idle()) return found;
    found->close();
  }
  return nullptr;
}

void kept_wires::keep(const std::string& key, std::shared_ptr<wire> connection, instant now) {
  drop_old(now);
  if (all_.size() == most) {
    all_.front().connection->close();
    all_.erase(all_.begin());
  }
  all_.push_back({key, std::move(connection), now});
}

void kept_wires::drop_old(instant now) {
  std::erase_if(all_, [now](const kept& k) {
    if (now - k.since < most_idle) return false;
    k.connection->close();
    return true;
  });
}

} // namespace quell::cli
