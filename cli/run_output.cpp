// Prints the output of a run.
#include "cli/run_output.hpp"

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "cli/fields.hpp"
#include "cli/output_line.hpp"

namespace quell::cli {
namespace {

constexpr milliseconds stalled_stream{10'000};
constexpr std::array<const char*, 2> names{"stdout", "stderr"};

} // namespace

run_output::run_output(session& s, api& controller, std::string operation, callbacks c)
    : s_(s), api_(controller), id_(std::move(operation)), callbacks_(std::move(c)) {
  sinks_[0] = std::make_unique<output_sink>(s_.loop, STDOUT_FILENO, callbacks_.not_written);
  sinks_[1] = std::make_unique<output_sink>(s_.loop, STDERR_FILENO, nullptr);
}

void run_output::start() {
  if (!s_.json() && same_place(STDOUT_FILENO, STDERR_FILENO)) return follow_order();
  follow_streams(0, 0);
}

void run_output::follow_order() {
  ordered_follower::callbacks c;
  c.ready = [this] {
    if (sinks_[0]->drained()) return true;
    sinks_[0]->when_drained([this] { ordered_->resume(); });
    return false;
  };
  c.bytes = [this](std::size_t, std::uint64_t, std::string_view bytes) {
    last_bytes_ = std::chrono::steady_clock::now();
    sinks_[0]->append(bytes); // both go to one place, so one writer keeps the order
  };
  c.over = [this](bool is_whole) {
    if (!is_whole) return leave_order();
    order_is_whole_ = true;
    callbacks_.whole();
  };
  c.lost = callbacks_.lost;
  c.contact = callbacks_.contact;
  ordered_ = std::make_unique<ordered_follower>(api_, id_, ordered_follower::until::its_end, std::move(c));
  ordered_->start();
}

void run_output::leave_order() {
  if (!ordered_ || streams_[0] || order_is_whole_) return;
  ordered_->stop();
  follow_streams(ordered_->offset(0), ordered_->offset(1));
}

void run_output::follow_streams(std::uint64_t out_offset, std::uint64_t err_offset) {
  for (std::size_t i = 0; i < 2; ++i) {
    output_follower::range from;
    from.offset = i == 0 ? out_offset : err_offset;
    output_follower::callbacks c;
    c.bytes = [this, i](std::uint64_t offset, std::string_view bytes) { return show(i, offset, bytes); };
    c.gap = [this, i](std::uint64_t n) { s_.warn(std::to_string(n) + " bytes of " + names[i] + " were dropped"); };
    c.end = [this, i](const problem* p) { stream_ended(i, p); };
    c.lost = callbacks_.lost;
    c.contact = callbacks_.contact;
    streams_[i] = std::make_unique<output_follower>(api_, id_, names[i], from, std::move(c));
  }
  for (auto& stream : streams_) stream->start();
}

bool run_output::show(std::size_t i, std::uint64_t offset, std::string_view bytes) {
  last_bytes_ = std::chrono::steady_clock::now();
  const auto resume = [this] {
    for (auto& stream : streams_) stream->resume();
  };
  if (!s_.json()) {
    // One place has one writer, even after the ordered part.
    return sinks_[ordered_ ? 0 : i]->write(bytes, resume);
  }
  const std::string all = rests_[i] + std::string(bytes);
  const std::size_t whole = all.size() - cut_character(all);
  if (whole > 0) {
    const auto line = output_line(id_, names[i], offset - rests_[i].size(), std::string_view(all).substr(0, whole));
    if (!sinks_[0]->write(to_line(line) + "\n", resume)) return false;
  }
  rests_[i] = all.substr(whole);
  return true;
}

void run_output::stream_ended(std::size_t i, const problem* why) {
  if (why != nullptr && why->status != 404) s_.say(*why);
  if (!rests_[i].empty()) add_line(output_line(id_, names[i], streams_[i]->offset() - rests_[i].size(), rests_[i]));
  if (is_whole()) callbacks_.whole();
}

bool run_output::is_whole() const {
  return order_is_whole_ || (streams_[0] && streams_[0]->ended() && streams_[1]->ended());
}

void run_output::add_line(const nlohmann::json& object) { sinks_[0]->append(to_line(object) + "\n"); }

void run_output::operation_ended() {
  last_bytes_ = std::chrono::steady_clock::now();
  watch_stalled();
}

void run_output::watch_stalled() {
  s_.loop.after(stalled_stream, [this] {
    if (is_whole()) return;
    if (std::chrono::steady_clock::now() - last_bytes_ >= stalled_stream && drained() && !callbacks_.is_lost()) {
      leave_order();
      for (auto& stream : streams_) stream->stop_following();
    }
    watch_stalled();
  });
}

} // namespace quell::cli
