// It obeys the protocol: after a cancel it sends no more of what it was doing.
#include "tests/simulation/outer_brain.hpp"

#include "tests/simulation/voice_truth.hpp"
#include "tests/simulation/world.hpp"

namespace quell::simulation {

using namespace quell::integrations::voice;

outer_brain::outer_brain(world& w) : world_(w), random_(w.plan.seed, 8500) {}

void outer_brain::connect() {
  ++exchange_;
  const auto n = ++connections_;
  peer_ = std::make_shared<voice_peer>(
      world_, direction::gateway_to_brain, mix(8501, n),
      voice_peer::hooks{[this, n](const frame& f) { n == connections_ ? take(f) : void(); }, {}, {}});
  if (!world_.turn_scheduler.connect_voice(direction::brain_to_gateway, peer_, true)) return;
  peer_->send({tag::session_start, R"({"agent_file":"a","session_dir":"b"})"});
}

void outer_brain::send_later(instant delay, frame f) {
  world_.events.after(delay, [this, f = std::move(f), now = exchange_] {
    if (now == exchange_ && peer_->is_open() && !world_.failed()) peer_->send(f);
  });
}

void outer_brain::take(const frame& f) {
  world_.note("brain", [&] { return "gets " + std::to_string(static_cast<int>(f.tag)) + " " + f.payload; });
  switch (f.tag) {
  case tag::transcript:
    ++exchange_;
    open_ = f.payload;
    if (random_.chance(300))
      return send_later(random_.long_tailed(1 * ms, 2 * seconds), {tag::question, "Do " + open_});
    return answer(open_);
  case tag::brain_choice:
    return f.payload == std::string(1, '\1') ? answer(open_) : void(++exchange_);
  case tag::brain_cancel:
    ++exchange_;
    if (random_.chance(100)) peer_->send({tag::brain_cancel, {}}); // means nothing
    return;
  case tag::brain_summary_request:
    return peer_->send({tag::brain_summary, "We talked."});
  default:
    return;
  }
}

void outer_brain::answer(const std::string& words) {
  instant at = 0;
  for (auto n = random_.chance(150) ? random_.between(0, 3) : 1; n > 0; --n)
    send_later(at += random_.long_tailed(100 * us, 2 * seconds), {tag::answer, "[SPEED:1.2] About " + words});
  if (random_.chance(30))
    world_.events.after(random_.long_tailed(1 * ms, 2 * seconds), [this, now = connections_] {
      if (now != connections_ || world_.failed()) return;
      peer_->close();
      world_.events.after(500 * ms, [this] { connect(); });
    });
}

} // namespace quell::simulation
