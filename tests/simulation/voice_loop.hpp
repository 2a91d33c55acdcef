// The voice gateway's thread in virtual time, and connections to it whose bytes come late, split and merged. Mirrors
// integrations/voice/loop.cpp.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "integrations/voice/loop.hpp"
#include "tests/simulation/events.hpp"
#include "tests/simulation/random.hpp"

namespace quell::simulation {

struct world;
struct scheduler_life;
class voice_link;

/// The far end of a connection: a client's or a brain's. Outlives the gateway's life.
class voice_peer : public std::enable_shared_from_this<voice_peer> {
 public:
  struct hooks {
    std::function<void(const integrations::voice::frame&)> on_frame;
    std::function<void()> gone; ///< the gateway has closed the connection, or died
    /// Called when a frame leaves the gateway, before it is on its way.
    std::function<void(const integrations::voice::frame&)> leaves;
  };
  voice_peer(world& w, integrations::voice::direction hears, std::uint64_t salt, hooks h);

  void send(const integrations::voice::frame& f);
  void close();
  bool is_open() const { return is_open_; }

 private:
  friend class voice_link;
  friend class virtual_voice_loop;
  instant arrival(instant& last);
  void take(const std::string& bytes);
  void lose();

  world& world_;
  random_stream random_;
  integrations::voice::frame_reader reader_;
  hooks hooks_;
  std::weak_ptr<voice_link> to_;
  instant last_up_ = 0, last_down_ = 0;
  bool is_open_ = false;
};

class virtual_voice_loop final : public integrations::voice::voice_loop {
 public:
  explicit virtual_voice_loop(std::shared_ptr<scheduler_life> life) : life_(std::move(life)) {}

  result<std::uint16_t> listen(const integrations::voice::listening_place& at,
                               std::function<void(std::shared_ptr<integrations::voice::frame_link>)> came) override;
  void post(std::function<void()> what) override;
  void after(std::chrono::milliseconds wait, std::function<void()> what) override;
  /// A crash: nobody says farewell.
  void stop(std::function<void()> farewell) override;

  /// A client (`client_to_gateway`) or a brain connects; false: nobody listens for it.
  bool connect(integrations::voice::direction as, const std::shared_ptr<voice_peer>& from, bool is_loopback);

 private:
  struct entrance {
    integrations::voice::direction reads;
    std::function<void(std::shared_ptr<integrations::voice::frame_link>)> came;
  };
  std::shared_ptr<scheduler_life> life_;
  std::vector<entrance> entrances_;
  std::vector<std::weak_ptr<voice_link>> links_;
  instant last_post_ = 0;
  bool is_stopped_ = false;
};

} // namespace quell::simulation
