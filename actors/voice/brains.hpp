// Brains that are programs: each sends the first frame (A2), serves one client at a time, and outlives it. On the
// loop's thread.
#pragma once

#include <list>
#include <memory>
#include <string>

#include "actors/voice/brain_port.hpp"
#include "integrations/voice/loop.hpp"

namespace quell::controller::voice {

/// Must be held by a shared_ptr.
class brains : public std::enable_shared_from_this<brains> {
 public:
  void came(std::shared_ptr<integrations::voice::frame_link> link);
  /// A free brain, in use until the returned port is released; nullptr if there is none.
  std::shared_ptr<brain_port> take_one();
  std::size_t count() const { return all_.size(); }
  /// quelld ends: all are told why, and disconnected.
  void shut_down(const fault& why);

 private:
  struct peer;
  class port;
  void on_frame(const std::shared_ptr<peer>& from, const integrations::voice::frame& f);
  void refuse(const std::shared_ptr<peer>& which, const fault& why);
  void lost(const std::shared_ptr<peer>& which, const std::string& why);
  std::list<std::shared_ptr<peer>> all_;  ///< those that have sent A2
  std::list<std::weak_ptr<peer>> silent_; ///< those that have not, and some that have gone
};

} // namespace quell::controller::voice
