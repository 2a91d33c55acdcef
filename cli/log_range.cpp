// Finds offsets in output.
#include "cli/log_range.hpp"

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/event_stream.hpp"
#include "cli/fields.hpp"
#include "cli/url.hpp"

namespace quell::cli {
namespace {
constexpr std::uint64_t first_look_bytes = 64 * 1024;
constexpr std::uint64_t most_look_bytes = 256ULL * 1024 * 1024;
} // namespace

std::size_t last_lines(std::string_view bytes, std::uint64_t lines) {
  if (lines == 0) return bytes.size();
  std::size_t end = bytes.size();
  if (end > 0 && bytes[end - 1] == '\n') --end;
  while (end > 0) {
    const auto found = bytes.rfind('\n', end - 1);
    if (found == std::string_view::npos) return std::string_view::npos;
    if (--lines == 0) return found + 1;
    end = found;
  }
  return std::string_view::npos;
}

answer<std::uint64_t> tail_offset(api& controller, const std::string& operation, const std::string& stream,
                                  std::uint64_t lines) {
  for (std::uint64_t look = first_look_bytes;; look *= 8) {
    std::string bytes;
    std::optional<http_end> over;
    http_sink sink;
    sink.body = [&](std::string_view more) {
      bytes.append(more);
      return true;
    };
    sink.end = [&](const http_end& end) { over = end; };
    controller.loop().start(
        controller.request("GET", with_query("/v1/operations/" + operation + "/output",
                                             {{"stream", stream}, {"tail_bytes", std::to_string(look)}})),
        std::move(sink));
    controller.loop().run_until([&] { return over.has_value(); });
    if (!over->error.empty() || over->head.status >= 300) return tl::unexpected(controller.problem_of(*over, bytes));
    const auto head = over->head.headers.find("quell-offset");
    const std::uint64_t first = head == over->head.headers.end() ? 0 : std::strtoull(head->second.c_str(), nullptr, 10);
    const auto at = last_lines(bytes, lines);
    if (at != std::string_view::npos) return first + at;
    if (bytes.size() < look || first == 0 || look >= most_look_bytes) return first;
  }
}

answer<std::map<std::string, std::uint64_t>> offsets_since(api& controller, const std::string& operation,
                                                           wall_time from) {
  std::map<std::string, std::uint64_t> out;
  event_parser parser([&](const stream_event& e) {
    const auto event = nlohmann::json::parse(e.data, nullptr, false);
    const auto at = instant_of(event, "at");
    if (!at || *at < from) return;
    const auto& data = member(event, "data");
    const auto offset = static_cast<std::uint64_t>(number_of(data, "offset"));
    const auto [known, is_new] = out.emplace(text_of(data, "stream"), offset);
    if (!is_new && offset < known->second) known->second = offset;
  });
  auto request = controller.request("GET", "/v1/operations/" + operation + "/output?follow=false");
  request.headers.emplace_back("Accept: text/event-stream");
  std::optional<http_end> over;
  std::string refusal;
  bool refused = false;
  http_sink sink;
  sink.head = [&](const http_head& head) { refused = head.status >= 300; };
  sink.body = [&](std::string_view bytes) {
    if (refused)
      refusal.append(bytes.substr(0, 64 * 1024));
    else
      parser.feed(bytes);
    return true;
  };
  sink.end = [&](const http_end& end) { over = end; };
  controller.loop().start(std::move(request), std::move(sink));
  controller.loop().run_until([&] { return over.has_value(); });
  if (!over->error.empty() || refused) return tl::unexpected(controller.problem_of(*over, refusal));
  return out;
}

} // namespace quell::cli
