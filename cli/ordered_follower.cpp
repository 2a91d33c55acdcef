// Follows output as events.
#include "cli/ordered_follower.hpp"

#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "cli/fields.hpp"
#include "cli/output_line.hpp"

namespace quell::cli {

ordered_follower::ordered_follower(api& controller, std::string operation, until when, callbacks c)
    : api_(controller), operation_(std::move(operation)), until_(when), callbacks_(std::move(c)) {}

ordered_follower::~ordered_follower() { stop(); }

void ordered_follower::stop() {
  api_.loop().abandon(transfer_);
  api_.loop().forget(timer_);
  transfer_ = timer_ = 0;
}

void ordered_follower::resume() { api_.loop().resume(transfer_); }

void ordered_follower::start() {
  auto request = api_.request("GET", "/v1/operations/" + operation_ +
                                         "/output?follow=" + (until_ == until::its_end ? "true" : "false"));
  request.timeout = milliseconds{0};
  request.headers.emplace_back("Accept: text/event-stream");
  if (!last_id_.empty()) request.headers.push_back("Last-Event-ID: " + last_id_);
  parser_ = std::make_unique<event_parser>([this](const stream_event& event) { take(event); });
  is_stream_ = false;
  http_sink sink;
  sink.head = [this](const http_head& head) {
    const auto type = head.headers.find("content-type");
    is_stream_ = head.status == 200 && type != head.headers.end() && type->second.starts_with("text/event-stream");
    if (is_stream_) callbacks_.contact();
  };
  sink.body = [this](std::string_view bytes) {
    if (!is_stream_ || has_gap_) return true;
    if (!callbacks_.ready()) return false;
    callbacks_.contact();
    if (!parser_->feed(bytes)) has_gap_ = true;
    return true;
  };
  sink.end = [this](const http_end& end) { on_end(end); };
  transfer_ = api_.loop().start(std::move(request), std::move(sink));
}

void ordered_follower::take(const stream_event& event) {
  const auto document = nlohmann::json::parse(event.data, nullptr, false);
  const auto& data = member(document, "data");
  const std::string name = text_of(data, "stream");
  if (has_gap_ || event_type_of(event.type) != event_type::output || (name != "stdout" && name != "stderr")) return;
  const std::size_t stream = name == "stdout" ? 0 : 1;
  std::string bytes = member(data, "base64").is_string() ? from_base64(text_of(data, "base64")) : text_of(data, "text");
  auto offset = static_cast<std::uint64_t>(number_of(data, "offset"));
  if (offset > seen_[stream]) { // bytes are missing: the raw streams say how many
    has_gap_ = true;
    return;
  }
  if (!event.id.empty()) last_id_ = event.id;
  const std::uint64_t known = seen_[stream] - offset;
  if (known >= bytes.size()) return;
  bytes.erase(0, known);
  callbacks_.bytes(stream, seen_[stream], bytes);
  seen_[stream] += bytes.size();
}

void ordered_follower::on_end(const http_end& end) {
  transfer_ = 0;
  if (end.error.empty() || has_gap_) {
    const auto trailer = end.head.headers.find("quell-end");
    return callbacks_.over(is_stream_ && !has_gap_ && trailer != end.head.headers.end() && trailer->second == "true");
  }
  if (const auto pause = callbacks_.lost())
    timer_ = api_.loop().after(*pause, [this] {
      api_.find_again();
      start();
    });
}

bool same_place(int one, int other) {
  struct stat a {
  }, b{};
  return ::fstat(one, &a) == 0 && ::fstat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino &&
         a.st_rdev == b.st_rdev;
}

} // namespace quell::cli
