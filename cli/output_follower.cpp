// Follows output.
//
// The end counts only if the controller says `Quell-End: true`, in the head or the trailer of a complete answer. A
// complete answer without it (a controller that stops, a follow that was cut) is followed by another request from the
// offset reached, so no byte is lost or doubled.
#include "cli/output_follower.hpp"

#include <cstdlib>

#include "cli/url.hpp"

namespace quell::cli {

output_follower::output_follower(api& controller, std::string operation, std::string stream, range from, callbacks c)
    : api_(controller), operation_(std::move(operation)), stream_(std::move(stream)), range_(from),
      callbacks_(std::move(c)) {}

output_follower::~output_follower() { stop(); }

void output_follower::stop() {
  api_.loop().abandon(transfer_);
  api_.loop().forget(timer_);
  transfer_ = timer_ = 0;
}

void output_follower::start() {
  if (ended_) return;
  stop();
  query q{{"stream", stream_}};
  if (range_.tail_bytes > 0)
    q.emplace_back("tail_bytes", std::to_string(range_.tail_bytes));
  else
    q.emplace_back("offset", std::to_string(range_.offset));
  if (range_.follow) q.emplace_back("follow", "true");
  auto request = api_.request("GET", with_query("/v1/operations/" + operation_ + "/output", q));
  request.timeout = milliseconds{0};
  refusal_.clear();
  refused_ = progress_ = false;
  http_sink sink;
  sink.head = [this](const http_head& head) { on_head(head); };
  sink.body = [this](std::string_view bytes) { return on_bytes(bytes); };
  sink.end = [this](const http_end& end) { on_end(end); };
  transfer_ = api_.loop().start(std::move(request), std::move(sink));
}

void output_follower::resume() { api_.loop().resume(transfer_); }

void output_follower::stop_following() {
  if (ended_ || !range_.follow) return;
  range_.follow = false;
  start();
}

void output_follower::on_head(const http_head& head) {
  if (head.status >= 300) {
    refused_ = true;
    return;
  }
  if (callbacks_.contact) callbacks_.contact();
  const auto at = head.headers.find("quell-offset");
  if (at == head.headers.end()) return;
  const std::uint64_t first = std::strtoull(at->second.c_str(), nullptr, 10);
  const bool by_tail = range_.tail_bytes > 0;
  if (first > range_.offset && !by_tail && callbacks_.gap) callbacks_.gap(first - range_.offset);
  if (first > range_.offset || by_tail) range_.offset = first;
  range_.tail_bytes = 0;
}

bool output_follower::on_bytes(std::string_view bytes) {
  if (refused_) {
    if (refusal_.size() < 64 * 1024) refusal_.append(bytes);
    return true;
  }
  progress_ = true;
  if (!callbacks_.bytes(range_.offset, bytes)) return false;
  range_.offset += bytes.size();
  if (callbacks_.contact) callbacks_.contact();
  return true;
}

void output_follower::on_end(const http_end& end) {
  transfer_ = 0;
  if (!end.error.empty()) {
    if (const auto pause = callbacks_.lost()) retry(*pause);
    return;
  }
  if (refused_) {
    const auto p = api_.problem_of(end, refusal_);
    if (p.status == 503 || p.status == 429 || p.status == 502 || p.status == 504) {
      if (const auto pause = callbacks_.lost()) retry(*pause);
      return;
    }
    return finish(&p);
  }
  const auto end_header = end.head.headers.find("quell-end");
  if ((end_header != end.head.headers.end() && end_header->second == "true") || !range_.follow) return finish(nullptr);
  // A complete answer without the end: retry at once if it brought bytes, otherwise after a short pause, so that a
  // server that answers with nothing is not flooded.
  retry(milliseconds{progress_ ? 0 : 200});
}

void output_follower::retry(milliseconds pause) {
  timer_ = api_.loop().after(pause, [this] {
    api_.find_again();
    start();
  });
}

void output_follower::finish(const problem* why) {
  ended_ = true;
  stop();
  callbacks_.end(why);
}

} // namespace quell::cli
