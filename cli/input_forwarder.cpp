// Forwards standard input.
#include "cli/input_forwarder.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/fields.hpp"

namespace quell::cli {
namespace {
constexpr std::size_t chunk_bytes = 64 * 1024;
}

input_forwarder::input_forwarder(api& controller, std::string operation, int descriptor, callbacks c)
    : api_(controller), operation_(std::move(operation)), descriptor_(descriptor), callbacks_(std::move(c)) {}

input_forwarder::~input_forwarder() { stop(); }

void input_forwarder::start() {
  api_.loop().watch(descriptor_, ready_for::reading, [this] { read_some(); });
}

void input_forwarder::stop() {
  stopped_ = true;
  api_.loop().unwatch(descriptor_);
  api_.loop().abandon(transfer_);
  api_.loop().forget(timer_);
}

void input_forwarder::read_some() {
  std::array<char, chunk_bytes> buffer;
  const ssize_t n = ::read(descriptor_, buffer.data(), buffer.size());
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (n > 0)
    chunk_.assign(buffer.data(), static_cast<std::size_t>(n));
  else
    at_end_ = true;                 // an error (a hung-up terminal) ends the input, too
  api_.loop().unwatch(descriptor_); // back-pressure: nothing is read while a chunk is in flight
  send();
}

void input_forwarder::send() {
  auto request = api_.request("POST", "/v1/operations/" + operation_ + "/input?offset=" + std::to_string(offset_) +
                                          (at_end_ ? "&end=true" : ""));
  request.body = chunk_;
  request.headers.emplace_back("Content-Type: application/octet-stream");
  auto text = std::make_shared<std::string>();
  http_sink sink;
  sink.body = [text](std::string_view bytes) {
    if (text->size() < 64 * 1024) text->append(bytes);
    return true;
  };
  sink.end = [this, text](const http_end& end) {
    transfer_ = 0;
    if (stopped_) return;
    if (!end.error.empty() || end.head.status >= 300) {
      const auto p = api_.problem_of(end, *text);
      // A task that has not started, or reads slowly, does not mean lost contact: it can take as long as it needs.
      if (p.status == 429 || has_code(p, error_code::not_started)) {
        callbacks_.contact();
        slow_pause_ = std::min(slow_pause_ * 2, most_slow_pause);
        return again(slow_pause_);
      }
      const bool transient = p.status == 0 || p.status == 503 || p.status == 502 || p.status == 504;
      if (!transient) {
        stop();
        return callbacks_.refused(p);
      }
      if (const auto pause = callbacks_.lost()) again(*pause);
      return;
    }
    callbacks_.contact();
    const auto answer = nlohmann::json::parse(*text, nullptr, false);
    // Bytes that have not reached the task yet stay here: a crash of the controller would lose them.
    const auto whole = offset_ + chunk_.size();
    const auto handed =
        member(answer, "offset").is_number() ? static_cast<std::uint64_t>(number_of(answer, "offset")) : whole;
    const auto progress = std::min<std::uint64_t>(handed > offset_ ? handed - offset_ : 0, chunk_.size());
    chunk_.erase(0, progress);
    offset_ += progress;
    const bool is_over = !at_end_ || !member(answer, "end").is_boolean() || member(answer, "end").get<bool>();
    if (chunk_.empty() && is_over) {
      slow_pause_ = first_slow_pause;
      if (!at_end_) start();
      return;
    }
    slow_pause_ = progress > 0 ? first_slow_pause : std::min(slow_pause_ * 2, most_slow_pause);
    again(slow_pause_);
  };
  transfer_ = api_.loop().start(std::move(request), std::move(sink));
}

void input_forwarder::again(milliseconds pause) {
  timer_ = api_.loop().after(pause, [this] {
    api_.find_again();
    send();
  });
}

} // namespace quell::cli
