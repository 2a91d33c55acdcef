// A listener that keeps the events of a call and waits for them with a deadline.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "integrations/models/model.hpp"
#include "tests/integrations/http_server.hpp"

namespace quell::testing {

class event_recorder {
 public:
  std::function<void(model_event)> listener() {
    return [kept = kept_](model_event event) {
      const std::lock_guard lock(kept->guard);
      kept->events.push_back(std::move(event));
      kept->times.push_back(steady::now());
      kept->changed.notify_all();
    };
  }
  std::vector<model_event> events() const {
    const std::lock_guard lock(kept_->guard);
    return kept_->events;
  }
  std::vector<steady::time_point> times() const {
    const std::lock_guard lock(kept_->guard);
    return kept_->times;
  }
  template <class Event>
  std::vector<Event> all() const {
    std::vector<Event> found;
    for (const model_event& event : events())
      if (const auto* one = std::get_if<Event>(&event)) found.push_back(*one);
    return found;
  }
  std::string text() const {
    std::string whole;
    for (const auto& one : all<model_events::text>()) whole += one.delta;
    return whole;
  }
  template <class Event>
  void wait_for(const std::string& what, std::size_t count = 1) const {
    wait(what, [&](const std::vector<model_event>& events) {
      std::size_t found = 0;
      for (const model_event& event : events) found += std::holds_alternative<Event>(event) ? 1 : 0;
      return found >= count;
    });
  }
  /// Waits for the end and checks that there is exactly one.
  void wait_for_end() const {
    wait("the end of a call", [](const std::vector<model_event>& events) {
      return !events.empty() && (std::holds_alternative<model_events::finished>(events.back()) ||
                                 std::holds_alternative<model_events::failed>(events.back()));
    });
    CHECK(all<model_events::finished>().size() + all<model_events::failed>().size() == 1);
  }
  model_events::finished finished() const {
    wait_for_end();
    for (const auto& one : all<model_events::failed>()) FAIL("failed: " << one.why.code << ": " << one.why.detail);
    return all<model_events::finished>().front();
  }
  model_events::failed failed() const {
    wait_for_end();
    REQUIRE(all<model_events::failed>().size() == 1);
    return all<model_events::failed>().front();
  }

 private:
  struct kept {
    std::mutex guard;
    std::condition_variable changed;
    std::vector<model_event> events;
    std::vector<steady::time_point> times;
  };
  template <class Done>
  void wait(const std::string& what, Done done) const {
    std::unique_lock lock(kept_->guard);
    if (!kept_->changed.wait_for(lock, test_bound, [&] { return done(kept_->events); }))
      FAIL("waited " << test_bound.count() << " ms for " << what);
  }
  std::shared_ptr<kept> kept_ = std::make_shared<kept>();
};

/// Counts calls of `closed` and waits for them.
class closings {
 public:
  std::function<void()> one() {
    return [kept = kept_] {
      const std::lock_guard lock(kept->guard);
      ++kept->count;
      kept->thread = std::this_thread::get_id();
      kept->last = steady::now();
      kept->changed.notify_all();
    };
  }
  void wait_for(std::size_t count) const {
    std::unique_lock lock(kept_->guard);
    if (!kept_->changed.wait_for(lock, test_bound, [&] { return kept_->count >= count; }))
      FAIL("waited 30 s for " << count << " calls of closed; came: " << kept_->count);
  }
  std::size_t count() const {
    const std::lock_guard lock(kept_->guard);
    return kept_->count;
  }
  std::thread::id thread() const {
    const std::lock_guard lock(kept_->guard);
    return kept_->thread;
  }
  steady::time_point last() const {
    const std::lock_guard lock(kept_->guard);
    return kept_->last;
  }

 private:
  struct kept {
    std::mutex guard;
    std::condition_variable changed;
    std::size_t count = 0;
    std::thread::id thread;
    steady::time_point last{};
  };
  std::shared_ptr<kept> kept_ = std::make_shared<kept>();
};

inline std::unique_ptr<integrations::model_client> open_client(double random = 0) {
  auto made = integrations::model_client::make({{}, [random] { return random; }});
  if (!made) FAIL(made.error().detail);
  return std::move(*made);
}

/// An OpenAI model at this server, with short pauses between retries.
inline integrations::model_settings settings_for(const std::string& url,
                                                 integrations::provider provider = integrations::provider::openai) {
  integrations::model_settings settings;
  settings.name = "main";
  settings.provider = provider;
  settings.model = "m-1";
  settings.base_url = url;
  settings.key = "sk-very-secret";
  settings.first_backoff = std::chrono::milliseconds(2);
  settings.longest_backoff = std::chrono::milliseconds(20);
  return settings;
}

inline model_request asking(const std::string& text) {
  model_request request;
  request.messages.emplace_back(user_message{text});
  return request;
}

/// One event of Chat Completions.
inline std::string text_piece(const std::string& text) {
  return "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" + text + "\"}}]}\n\n";
}
inline std::string end_piece() {
  return "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
         "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":3}}\n\ndata: [DONE]\n\n";
}

/// Open descriptors of this process.
std::size_t descriptors();

} // namespace quell::testing
