// Buffers one stream's unacknowledged output.
#include "worker/output_buffer.hpp"

#include <algorithm>
#include <utility>

namespace quell::worker {

namespace {
constexpr std::size_t small_chunk = 4 * 1024;
constexpr std::size_t large_chunk = 64 * 1024;
} // namespace

bool output_buffer::wants_bytes(boot_time now) {
  if (forgotten_) return true;
  if (!full()) {
    if (dropping_ && held_ > settings_.limit / 2)
      return true; // hysteresis: continues dropping until half of the
                   // buffer is free
    dropping_ = false;
    stalled_since_.reset();
    return true;
  }
  if (dropping_) return true;
  if (!stalled_since_) stalled_since_ = now;
  if (now - *stalled_since_ < settings_.stall) return false;
  dropping_ = true;
  return true;
}

std::optional<boot_time> output_buffer::stall_ends() const {
  if (!stalled_since_ || dropping_ || finished_) return std::nullopt;
  return *stalled_since_ + settings_.stall;
}

void output_buffer::took(std::string_view bytes, writer now) {
  const std::uint64_t offset = total_;
  total_ += bytes.size();
  const bool over = full() && (now == writer::lives || budget_->used >= budget_->limit);
  if (forgotten_) return;
  if (dropping_ || over) {
    dropped_ += bytes.size();
    return;
  }
  kept_until_ = total_;
  // Small writes share a chunk, so that a task that writes byte by byte does not cost a frame for each.
  if (!chunks_.empty()) {
    chunk& last = chunks_.back();
    const bool adjacent = last.offset + last.bytes.size() == offset;
    if (adjacent && last.bytes.size() < small_chunk && last.bytes.size() + bytes.size() <= large_chunk) {
      last.bytes += bytes;
      held_ += bytes.size();
      budget_->used += bytes.size();
      return;
    }
  }
  chunks_.push_back({offset, std::string(bytes)});
  held_ += bytes.size();
  budget_->used += bytes.size();
}

std::optional<output_buffer::piece> output_buffer::next(std::size_t most) const {
  if (forgotten_) return std::nullopt;
  std::size_t index = next_chunk_;
  std::size_t from = next_byte_;
  if (index < chunks_.size() && from == chunks_[index].bytes.size()) { // it was sent whole; the next chunk follows
    ++index;
    from = 0;
  }
  if (index < chunks_.size()) {
    const chunk& c = chunks_[index];
    const auto bytes = std::string_view(c.bytes).substr(from, most);
    const bool last =
        index + 1 == chunks_.size() && from + bytes.size() == c.bytes.size() && c.offset + c.bytes.size() == total_;
    return piece{c.offset + from, bytes, finished_ && last};
  }
  if (finished_ && !end_sent_ && wants_mark()) return piece{total_, {}, true};
  return std::nullopt;
}

void output_buffer::sent(const piece& p) {
  if (p.end) end_sent_ = true;
  if (p.bytes.empty()) return;
  if (next_byte_ == chunks_[next_chunk_].bytes.size()) {
    ++next_chunk_;
    next_byte_ = 0;
  }
  next_byte_ += p.bytes.size();
  in_flight_ += p.bytes.size();
}

std::size_t output_buffer::acknowledged(std::uint64_t offset) {
  const std::size_t before = in_flight_;
  while (!chunks_.empty() && chunks_.front().offset < offset) {
    chunk& c = chunks_.front();
    const auto known = static_cast<std::size_t>(std::min<std::uint64_t>(offset - c.offset, c.bytes.size()));
    const bool current = next_chunk_ == 0;
    const std::size_t was_sent = current ? std::min(known, next_byte_) : known;
    held_ -= known;
    budget_->used -= known;
    in_flight_ -= std::min(in_flight_, was_sent);
    if (known == c.bytes.size()) {
      chunks_.pop_front();
      if (current)
        next_byte_ = 0;
      else
        --next_chunk_;
    } else {
      c.bytes.erase(0, known);
      c.offset += known;
      if (current) next_byte_ -= std::min(next_byte_, known);
      break;
    }
  }
  if (end_sent_ && offset >= total_) end_acknowledged_ = true;
  return before - in_flight_;
}

std::size_t output_buffer::rewind() {
  next_chunk_ = next_byte_ = 0;
  if (!end_acknowledged_) end_sent_ = false;
  return std::exchange(in_flight_, 0);
}

void output_buffer::forget() {
  forgotten_ = true;
  chunks_.clear();
  budget_->used -= std::exchange(held_, 0);
  next_chunk_ = next_byte_ = in_flight_ = 0;
  end_sent_ = end_acknowledged_ = true;
}

} // namespace quell::worker
