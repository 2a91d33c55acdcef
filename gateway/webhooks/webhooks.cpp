// One thread for all webhooks: reads the store, posts, keeps positions.
#include "gateway/webhooks/webhooks.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <random>

#include "gateway/webhooks/position.hpp"
#include "integrations/chat/web.hpp"
#include "integrations/chat/webhook/post.hpp"
#include "protocol/clock_now.hpp"

namespace quell::controller::webhooks {
namespace {

using integrations::chat::outgoing_webhook;
using integrations::chat::web_loop;

constexpr std::uint32_t page_events = 100;
/// The position is written this rarely if it moves only past events that do not match.
constexpr std::uint64_t unwanted_events = 5000;

struct webhook_queue {
  webhook_queue(outgoing_webhook w, position_file f, std::uint64_t position)
      : to(std::move(w)), file(std::move(f)), work(position), written(position), looked_to(position) {}
  const outgoing_webhook to;
  const position_file file;
  // Used by the loop's thread:
  delivery work;
  std::uint64_t written;
  // Used by any thread:
  std::atomic<bool> is_nudged{false};
  std::atomic<std::uint64_t> looked_to;
};

bool is_wanted(const outgoing_webhook& w, const records::event_record& e) {
  const bool has_type = w.types.empty() ? e.type != event_type::audit
                                        : std::find(w.types.begin(), w.types.end(), text_of(e)) != w.types.end();
  if (!has_type) return false;
  return !w.scope || (e.scope && e.scope->is_at_or_below(*w.scope));
}

records::event_filter filter_of(const outgoing_webhook& w, std::uint64_t after) {
  records::event_filter f;
  if (w.scope) f.scopes = {*w.scope};
  for (const auto& text : w.types)
    if (const auto type = event_type_of(text))
      f.types.push_back(*type);
    else
      f.unlisted_types.push_back(text);
  f.after = after;
  f.limit = page_events;
  return f;
}

class running final : public outgoing, public std::enable_shared_from_this<running> {
 public:
  explicit running(edges e) : edges_(std::move(e)), random_(std::random_device{}()) {}
  ~running() override { stop(); }

  result<void> start(std::vector<outgoing_webhook> all) {
    for (auto& w : all) {
      position_file file(edges_.state_directory, w.name);
      auto position = file.read();
      if (!position) return tl::unexpected(position.error());
      if (!*position) {
        // At once, so that no later event is missed if quelld dies before the first delivery.
        if (auto written = file.write(edges_.newest); !written) return written;
        *position = edges_.newest;
      }
      // A restored store can be behind the delivered position; its next events are new all the same.
      const auto after = std::min(**position, edges_.newest);
      queues_.push_back(std::make_unique<webhook_queue>(std::move(w), std::move(file), after));
    }
    auto loop = web_loop::start([this](boot_time) { return turn(); });
    if (!loop) return tl::unexpected(loop.error());
    loop_ = std::move(*loop);
    loop_->run([this] { has_begun_ = true; });
    return {};
  }

  void on_event(const records::event_record& event) override {
    if (is_over_) return;
    for (auto& l : queues_) {
      if (!is_wanted(l->to, event) && event.id < l->looked_to.load() + unwanted_events) continue;
      if (l->is_nudged.exchange(true)) continue;
      loop_->run([l = l.get()] {
        l->is_nudged = false;
        l->work.nudge();
      });
    }
  }

  std::vector<std::pair<std::string, std::string>> states() const override {
    const std::lock_guard lock(guard_);
    return states_;
  }

  void stop() override {
    if (is_over_.exchange(true)) return;
    if (loop_) loop_->stop();
    for (auto& l : queues_) keep(*l);
  }

 private:
  std::optional<boot_time> turn() {
    if (!has_begun_) return std::nullopt;
    std::optional<boot_time> next;
    std::vector<std::pair<std::string, std::string>> states;
    for (auto& l : queues_) {
      const auto now = clock_now();
      if (l->work.wants_to_read(now.boot)) look(*l);
      if (const auto* one = l->work.to_send(now.boot)) post(*l, *one, now);
      if (const auto at = l->work.next_at(); at && (!next || *at < *next)) next = at;
      states.emplace_back(l->to.name, l->work.state(now));
    }
    const std::lock_guard lock(guard_);
    states_ = std::move(states);
    return next;
  }

  void look(webhook_queue& l) {
    l.work.reads();
    edges_.read(filter_of(l.to, l.work.position()), [weak = weak_from_this(), &l](result<page> found) {
      const auto self = weak.lock();
      if (!self || self->is_over_) return;
      self->loop_->run(
          [all = self.get(), &l, found = std::move(found)]() mutable { all->looked(l, std::move(found)); });
    });
  }

  void looked(webhook_queue& l, result<page> found) {
    if (!found) {
      l.work.not_read(clock_now().boot);
      return tell(l, "cannot read events, and tries again: " + found.error().detail);
    }
    l.looked_to = found->looked_to;
    tell(l, l.work.read(std::move(*found)));
    if (l.work.position() >= l.written + unwanted_events) keep(l);
  }

  void post(webhook_queue& l, const item& one, moment now) {
    l.work.sends();
    const auto at = std::chrono::floor<std::chrono::seconds>(now.wall);
    loop_->fetch(integrations::chat::signed_post(l.to, std::to_string(one.id), at, one.json),
                 [this, &l](const integrations::chat::web_response& answer) {
                   const bool came = answer.what == integrations::chat::web_end::answered;
                   const auto now = clock_now();
                   tell(l, l.work.answered(came ? answer.status : 0, answer.error, answer.retry_after(), now,
                                           std::uniform_real_distribution<double>(0, 1)(random_)));
                   keep(l);
                 });
  }

  /// Written after the delivery: a crash in between delivers the event again, which the receiver detects by the event's
  /// id.
  void keep(webhook_queue& l) {
    const auto position = l.work.position();
    if (position == l.written) return;
    if (auto written = l.file.write(position); !written)
      return tell(l, "cannot keep its position, and will repeat events after a restart: " + written.error().detail);
    l.written = position;
  }

  static void tell(const webhook_queue& l, const std::string& what) {
    if (!what.empty()) spdlog::warn("webhook {} {}", l.to.name, what);
  }

  const edges edges_;
  std::vector<std::unique_ptr<webhook_queue>> queues_;
  std::unique_ptr<web_loop> loop_;
  std::atomic<bool> is_over_{false};
  bool has_begun_ = false;
  std::mt19937_64 random_;
  mutable std::mutex guard_;
  std::vector<std::pair<std::string, std::string>> states_;
};

/// State shared with late answers.
class holder final : public outgoing {
 public:
  explicit holder(std::shared_ptr<running> r) : running_(std::move(r)) {}
  ~holder() override { running_->stop(); }
  void on_event(const records::event_record& event) override { running_->on_event(event); }
  std::vector<std::pair<std::string, std::string>> states() const override { return running_->states(); }
  void stop() override { running_->stop(); }

 private:
  std::shared_ptr<running> running_;
};

} // namespace

result<std::unique_ptr<outgoing>> outgoing::start(std::vector<outgoing_webhook> to, edges e) {
  auto r = std::make_shared<running>(std::move(e));
  if (auto started = r->start(std::move(to)); !started) return tl::unexpected(started.error());
  return std::make_unique<holder>(std::move(r));
}

} // namespace quell::controller::webhooks
