// Models that a test plays: each request waits here for its events.
#pragma once

#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "integrations/models/model.hpp"

namespace quell::testing {

class played_models final : public integrations::model_client {
 public:
  struct open_request {
    integrations::model_settings settings;
    model_request request;
    std::function<void(model_event)> listener;
    std::string first_text() const { return std::get<user_message>(request.messages.at(0)).text; }
    std::vector<std::string> fallbacks() const {
      std::vector<std::string> names;
      for (const auto& one : settings.fallbacks) names.push_back(one.name);
      return names;
    }
  };
  std::vector<open_request> requests;

  std::unique_ptr<integrations::model_call> ask(const integrations::model_settings& settings, model_request request,
                                                std::function<void(model_event)> listener) override {
    requests.push_back({settings, std::move(request), std::move(listener)});
    return std::make_unique<played_call>();
  }
  open_request& at(std::size_t i) {
    REQUIRE(i < requests.size());
    return requests[i];
  }
  /// An event of the newest request.
  void play(model_event event) {
    REQUIRE_FALSE(requests.empty());
    const auto listener = requests.back().listener;
    listener(std::move(event));
  }

 private:
  struct played_call final : integrations::model_call {
    void cancel(std::function<void()> closed) override {
      if (closed) closed();
    }
    model_usage used() const override { return {}; }
  };
};

inline integrations::model_settings played_model(const std::string& name, std::uint32_t context,
                                                 std::uint32_t max_tokens = 1'000) {
  integrations::model_settings settings;
  settings.name = settings.model = name;
  settings.context = context;
  settings.max_tokens = max_tokens;
  return settings;
}

/// A message of about so many tokens, by quell's estimate.
inline std::string long_text(std::size_t tokens, const std::string& begin = {}) {
  std::string text = begin;
  while (text.size() * 2 / 7 < tokens) text += " word";
  return text;
}

} // namespace quell::testing
