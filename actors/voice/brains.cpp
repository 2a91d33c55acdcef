// The handshake of brains, and their assignment to clients.
#include "actors/voice/brains.hpp"

#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

namespace quell::controller::voice {

using integrations::voice::error_json;
using integrations::voice::frame;
using integrations::voice::frame_link;
using integrations::voice::tag;

struct brains::peer {
  std::shared_ptr<frame_link> link;
  bool is_greeted = false, is_taken = false, has_served = false;
  brain_port::hooks user{};
};

/// A client's exclusive use of a brain.
class brains::port final : public brain_port {
 public:
  port(std::weak_ptr<brains> all, std::shared_ptr<peer> who) : all_(std::move(all)), who_(std::move(who)) {
    who_->is_taken = true;
  }
  port(const port&) = delete;
  port& operator=(const port&) = delete;
  ~port() override {
    who_->user = {};
    who_->is_taken = false;
    who_->has_served = true;
  }
  void begin(hooks h) override {
    who_->user = std::move(h);
    if (who_->has_served) who_->link->send({tag::ready, {}}); // the next client begins
  }
  void exchange_begins() override {}
  void take(const frame& f) override { who_->link->send(f); }
  void client_left() override {} // it is told by the frame of the next client
  void refuse(const fault& why) override {
    if (const auto all = all_.lock()) all->refuse(who_, why);
  }
  void retract(std::function<void()> done) override { done(); } // it keeps its own history
  void on_event(const records::event_record&) override {}

 private:
  const std::weak_ptr<brains> all_;
  const std::shared_ptr<peer> who_;
};

void brains::came(std::shared_ptr<frame_link> link) {
  auto who = std::make_shared<peer>();
  who->link = link;
  std::erase_if(silent_, [](const auto& one) { return one.expired(); });
  silent_.push_back(who);
  const auto weak = weak_from_this();
  link->begin({[weak, who](const frame& f) {
                 if (const auto self = weak.lock()) self->on_frame(who, f);
               },
               [weak, who](const fault& why) {
                 if (const auto self = weak.lock()) self->refuse(who, why);
               },
               [weak, who] {
                 if (const auto self = weak.lock()) self->lost(who, "the brain has gone");
               }});
}

void brains::on_frame(const std::shared_ptr<peer>& from, const frame& f) {
  if (!from->is_greeted) {
    if (f.tag != tag::session_start) {
      from->link->send({tag::error, error_json("bad_order", "a brain begins with a session start (A2)")});
      return from->link->close();
    }
    if (!f.payload.empty() && !nlohmann::json::parse(f.payload, nullptr, false).is_object()) {
      from->link->send({tag::error, error_json("bad_frame", "a session start (A2) is a JSON object")});
      return from->link->close();
    }
    from->is_greeted = true;
    all_.push_back(from);
    spdlog::info("voice: a brain has connected; there are {}", all_.size());
    return from->link->send({tag::ready, {}});
  }
  if (f.tag == tag::session_start) {
    from->link->send({tag::error, error_json("bad_order", "the session has begun already")});
    return lost(from, "the brain broke the rules: it began twice");
  }
  if (f.tag == tag::session_end) return lost(from, "the brain has ended the session");
  const auto on_frame = from->user.on_frame; // the callback can release the brain
  if (on_frame) on_frame(f);
}

void brains::refuse(const std::shared_ptr<peer>& which, const fault& why) {
  which->link->send({tag::error, error_json(why.code, why.detail)});
  lost(which, "the brain broke the rules: " + why.detail);
}

void brains::lost(const std::shared_ptr<peer>& which, const std::string& why) {
  all_.remove(which);
  which->link->close();
  if (which->is_greeted) spdlog::info("voice: {}; {} left", why, all_.size());
  if (const auto gone = std::exchange(which->user, {}).gone) gone(why);
}

void brains::shut_down(const fault& why) {
  auto open = std::exchange(all_, {});
  for (const auto& one : std::exchange(silent_, {}))
    if (auto who = one.lock(); who && !who->is_greeted) open.push_back(std::move(who));
  for (const auto& who : open) {
    who->user = {};
    who->link->send({tag::error, error_json(why.code, why.detail)});
    who->link->close();
  }
}

std::shared_ptr<brain_port> brains::take_one() {
  for (const auto& one : all_)
    if (!one->is_taken) return std::make_shared<port>(weak_from_this(), one);
  return nullptr;
}

} // namespace quell::controller::voice
