// Both ends of a connection, and posted calls in order.
#include "tests/simulation/voice_loop.hpp"

#include "tests/simulation/scheduler_life.hpp"
#include "tests/simulation/world.hpp"

namespace quell::simulation {

using namespace quell::integrations::voice;

/// The gateway's end.
class voice_link final : public frame_link, public std::enable_shared_from_this<voice_link> {
 public:
  voice_link(std::shared_ptr<scheduler_life> life, std::shared_ptr<voice_peer> far, direction reads, bool is_loopback)
      : life_(std::move(life)), far_(std::move(far)), reader_(reads), is_loopback_(is_loopback) {}

  void begin(hooks h) override {
    if (is_over_) return;
    hooks_ = std::move(h);
    is_begun_ = true;
    later(life_, 0, [self = shared_from_this()] { self->take({}); }); // what has come before
  }
  void send(const frame& f) override {
    if (is_over_) return;
    if (far_->hooks_.leaves) far_->hooks_.leaves(f);
    down([bytes = encode(f)](voice_peer& to) { to.take(bytes); });
  }
  void close() override {
    if (std::exchange(is_over_, true)) return;
    hooks_ = {};
    down([](voice_peer& to) { to.lose(); });
  }
  bool is_lost() const override { return is_over_; }
  bool is_loopback() const override { return is_loopback_; }

  void take(const std::string& bytes) {
    reader_.put(bytes);
    while (is_begun_ && !is_over_) {
      const auto f = reader_.next();
      if (!f && hooks_.broken) return std::exchange(hooks_, {}).broken(f.error());
      if (!f || !*f) return;
      const auto on_frame = hooks_.on_frame; // a copy: the callback can close this connection
      if (on_frame) on_frame(**f);
    }
  }
  void lose() {
    if (std::exchange(is_over_, true)) return;
    if (const auto gone = std::exchange(hooks_, {}).gone) gone();
  }
  std::shared_ptr<scheduler_life> life() const { return life_; }

 private:
  void down(std::function<void(voice_peer&)> what) {
    life_->at.events.at(far_->arrival(far_->last_down_), [far = far_, what = std::move(what)] {
      if (far->is_open_ && !far->world_.failed()) what(*far);
    });
  }
  std::shared_ptr<scheduler_life> life_;
  std::shared_ptr<voice_peer> far_;
  frame_reader reader_;
  hooks hooks_;
  const bool is_loopback_;
  bool is_begun_ = false, is_over_ = false;
};

voice_peer::voice_peer(world& w, direction hears, std::uint64_t salt, hooks h)
    : world_(w), random_(w.plan.seed, mix(8200, salt)), reader_(hears), hooks_(std::move(h)) {}

instant voice_peer::arrival(instant& last) {
  last = std::max(last, world_.events.now() + random_.long_tailed(10 * us, 400 * us));
  return last;
}

void voice_peer::send(const frame& f) {
  const auto up = [this](std::string bytes) {
    world_.events.at(arrival(last_up_), [to = to_, self = shared_from_this(), bytes = std::move(bytes)] {
      const auto link = to.lock();
      if (link && !link->life()->is_over && !self->world_.failed()) link->take(bytes);
    });
  };
  auto bytes = encode(f);
  if (random_.chance(200)) {
    const auto cut = 1 + random_.below(bytes.size() - 1);
    up(bytes.substr(0, cut));
    bytes.erase(0, cut);
  }
  up(std::move(bytes));
}

void voice_peer::close() {
  if (!std::exchange(is_open_, false)) return;
  world_.events.at(arrival(last_up_), [to = to_, self = shared_from_this()] {
    const auto link = to.lock();
    if (link && !link->life()->is_over && !self->world_.failed()) link->lose();
  });
}

void voice_peer::take(const std::string& bytes) {
  reader_.put(bytes);
  for (auto f = reader_.next(); is_open_; f = reader_.next()) {
    if (!f) return world_.violate("codec", "a frame of the voice gateway cannot be read: " + f.error().detail);
    if (!*f) return;
    hooks_.on_frame(**f);
  }
}

void voice_peer::lose() {
  if (std::exchange(is_open_, false) && hooks_.gone) hooks_.gone();
}

result<std::uint16_t> virtual_voice_loop::listen(const listening_place& at,
                                                 std::function<void(std::shared_ptr<frame_link>)> came) {
  entrances_.push_back({at.reads, std::move(came)});
  return std::uint16_t{7713};
}

void virtual_voice_loop::post(std::function<void()> what) {
  if (is_stopped_) return;
  const auto now = life_->at.events.now();
  last_post_ = std::max(last_post_, now + life_->random.between(2, 80) * us);
  later(life_, last_post_ - now, std::move(what));
}

void virtual_voice_loop::after(std::chrono::milliseconds wait, std::function<void()> what) {
  if (!is_stopped_) later(life_, wait.count() * ms + life_->random.between(2, 900) * us, std::move(what));
}

void virtual_voice_loop::stop(std::function<void()>) {
  if (std::exchange(is_stopped_, true)) return;
  for (const auto& weak : links_)
    if (const auto link = weak.lock()) link->close();
  links_.clear();
  entrances_.clear();
}

bool virtual_voice_loop::connect(direction as, const std::shared_ptr<voice_peer>& from, bool is_loopback) {
  for (const auto& e : entrances_) {
    if (e.reads != as) continue;
    auto link = std::make_shared<voice_link>(life_, from, as, is_loopback);
    from->to_ = link;
    from->is_open_ = true;
    links_.push_back(link);
    later(life_, life_->random.between(10, 300) * us, [came = e.came, link] { came(link); });
    life_->closers.push_back([weak = std::weak_ptr(link)] { // its hooks hold it
      if (const auto held = weak.lock()) held->close();
    });
    return true;
  }
  return false;
}

} // namespace quell::simulation
