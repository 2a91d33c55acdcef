// Decides which chat services receive an event.
#include "quelld/chat/connectors.hpp"

#include <algorithm>
#include <deque>
#include <iterator>
#include <mutex>

#include "actors/chat/chat_events.hpp"
#include "integrations/chat/webhook/connector.hpp"

namespace quell::controller::chat {

namespace {

constexpr std::size_t most_kept = 4096;

/// A connector that waits, connects or has given up says so first, and a room that it may not enter behind "; not in".
/// Parts that need no connection (incoming webhooks, Discord's commands without its gateway) are always there.
bool is_working(std::string_view state) {
  constexpr std::string_view not_working[] = {"retrying",    "connecting", "registering", "shaking hands",
                                              "not started", "gave up",    "ended",       "stopped"};
  const auto begins = [state](std::string_view word) { return state.starts_with(word); };
  return !state.empty() && std::none_of(std::begin(not_working), std::end(not_working), begins) &&
         state.find("; not in ") == std::string_view::npos;
}

} // namespace

result<std::unique_ptr<connectors>> connectors::start(const chat_settings& settings, const connector_tools& tools) {
  std::unique_ptr<connectors> made(new connectors);
  for (const auto& one : settings.connectors) {
    auto started = one.start(tools, one.name);
    if (!started) {
      made->stop();
      return failure(started.error().code, "[" + one.name + "]: " + started.error().detail);
    }
    made->all_.push_back(std::move(*started));
  }
  if (!settings.incoming.empty()) made->all_.push_back(integrations::chat::start_incoming(settings.incoming, tools.at));
  return made;
}

connectors::~connectors() { stop(); }

integrations::chat::connector* connectors::find(std::string_view name) const {
  const auto found = std::find_if(all_.begin(), all_.end(), [name](const auto& c) { return c->name() == name; });
  return found == all_.end() ? nullptr : found->get();
}

void connectors::on_event(const records::event_record& e) {
  for (const auto& c : all_)
    if (const auto shown = event_for(c->name(), e)) c->on_event(*shown);
}

bool connectors::called(std::string_view name, integrations::chat::web_call call,
                        std::function<void(integrations::chat::web_answer)> done) {
  auto* to = find(name);
  if (!to) return false;
  to->called(std::move(call), std::move(done));
  return true;
}

std::vector<chat_service_view> connectors::states() const {
  std::vector<chat_service_view> all;
  for (const auto& c : all_) {
    auto state = c->state();
    const bool works = is_working(state);
    all.push_back({std::string(c->name()), std::move(state), works});
  }
  return all;
}

void connectors::stop() {
  for (auto& c : all_) c->stop();
}

struct event_tap::state {
  std::mutex mutex;
  std::deque<records::event_record> kept;
  std::function<void(const records::event_record&)> listener;
  bool is_closed = false;
};

event_tap::event_tap() : state_(std::make_unique<state>()) {}
event_tap::~event_tap() = default;

// Holds the lock throughout, so that the order is kept while the tap is opened. The listener only passes the event on.
void event_tap::on_event(const records::event_record& e) {
  const std::lock_guard lock(state_->mutex);
  if (state_->is_closed) return;
  if (state_->listener) return state_->listener(e);
  state_->kept.push_back(e);
  if (state_->kept.size() > most_kept) state_->kept.pop_front();
}

void event_tap::open(std::function<void(const records::event_record&)> listener) {
  const std::lock_guard lock(state_->mutex);
  if (state_->is_closed) return;
  for (const auto& e : state_->kept) listener(e);
  state_->kept.clear();
  state_->listener = std::move(listener);
}

void event_tap::close() {
  const std::lock_guard lock(state_->mutex);
  state_->is_closed = true;
  state_->listener = nullptr;
  state_->kept.clear();
}

} // namespace quell::controller::chat
