// Feeds a stream to a reader as the client does, in any pieces.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "integrations/models/sse.hpp"
#include "integrations/models/translator.hpp"

namespace quell::testing {

struct reading {
  std::vector<model_event> events;
  std::optional<integrations::provider_error> wrong;

  std::string text() const {
    std::string whole;
    for (const auto& event : events)
      if (const auto* one = std::get_if<model_events::text>(&event)) whole += one->delta;
    return whole;
  }
  std::vector<tool_call> calls() const {
    std::vector<tool_call> found;
    for (const auto& event : events)
      if (const auto* one = std::get_if<model_events::call>(&event)) found.push_back(one->what);
    return found;
  }
  std::size_t calls_begun() const {
    std::size_t count = 0;
    for (const auto& event : events) count += std::holds_alternative<model_events::call_begun>(event) ? 1 : 0;
    return count;
  }
  model_events::finished end() const {
    if (wrong) FAIL(wrong->why.detail);
    REQUIRE(!events.empty());
    REQUIRE(std::holds_alternative<model_events::finished>(events.back()));
    return std::get<model_events::finished>(events.back());
  }
};

/// `piece` bytes at a time (0: all at once), with an extra cut at `cut`.
inline reading read(std::unique_ptr<integrations::reply_reader> reader, const std::string& stream,
                    std::size_t piece = 0, std::size_t cut = std::string::npos) {
  reading result;
  integrations::sse_decoder decoder;
  const auto take = [&](std::string_view bytes) {
    decoder.take(bytes, [&](std::string_view name, std::string_view data) {
      if (reader->finished() || result.wrong) return false;
      result.wrong = reader->take(name, data, result.events);
      return !result.wrong;
    });
  };
  const std::string_view all = stream;
  if (cut < all.size()) {
    take(all.substr(0, cut));
    take(all.substr(cut));
  } else {
    for (std::size_t at = 0; at < all.size(); at += piece == 0 ? all.size() : piece)
      take(all.substr(at, piece == 0 ? all.size() : piece));
  }
  if (!reader->finished() && !result.wrong) result.wrong = reader->end(result.events);
  return result;
}

} // namespace quell::testing
