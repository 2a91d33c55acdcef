// Sends task output to the controller: window, fairness between streams, resending, dropping acknowledged bytes.
#include <algorithm>

#include "worker/task_io.hpp"

namespace quell::worker {

namespace {
constexpr int most_end_tries = 3;
}

void task_io::enqueue(task& t, port which) {
  flow& f = flow_of(t, which);
  if (!f.queued && f.buffer.next()) {
    f.queued = true;
    sendable_.emplace_back(t.serial, which);
  }
}

void task_io::rewind(boot_time now) {
  received_ = now;
  ends_open_ = 0;
  std::vector<task*> all;
  for (auto& [serial, t] : tasks_) all.push_back(t.get());
  for (task* t : all) {
    for (const port which : {port::out, port::err}) {
      flow& f = flow_of(*t, which);
      const bool only_end = f.buffer.end_sent() && f.buffer.held() == 0 && !f.buffer.done();
      // The end's acknowledgement has no offset of its own; task_ended carries the same information to the controller.
      if (only_end && ++f.end_tries >= most_end_tries) f.buffer.forget();
      in_flight_ -= std::min(in_flight_, f.buffer.rewind());
      enqueue(*t, which);
    }
    if (t->in) say_(wire::input_ack{t->operation, t->input.drained(), false}); // resend input from here on
    settle(*t);
  }
}

void task_io::turn(boot_time now) {
  announce_ends(now);
  blocked_ = false;
  while (up_ && !sendable_.empty() && in_flight_ < settings_.window_bytes) {
    const auto [serial, which] = sendable_.front();
    task* t = find(serial);
    const auto piece = t ? flow_of(*t, which).buffer.next() : std::nullopt;
    if (!piece) {
      if (t) flow_of(*t, which).queued = false;
      sendable_.pop_front();
      continue;
    }
    if (!send_(t->operation, which == port::err ? stream::err : stream::out, *piece)) {
      blocked_ = true;
      break;
    }
    if (in_flight_ == 0 && ends_open_ == 0) received_ = now; // the silence begins with the first unanswered piece
    in_flight_ += piece->bytes.size();
    if (piece->end) ++ends_open_;
    flow_of(*t, which).buffer.sent(*piece);
    sendable_.pop_front();
    sendable_.emplace_back(serial, which);
  }
  auto paused = std::exchange(paused_, {});
  for (const auto& [serial, which] : paused) {
    task* t = find(serial);
    if (!t) continue;
    flow& f = flow_of(*t, which);
    if (!f.fd) continue;
    if (f.buffer.wants_bytes(now)) {
      f.paused = false;
      watch(*t, which);
    } else {
      paused_.emplace_back(serial, which);
    }
  }
}

std::optional<boot_time> task_io::next_turn() const {
  std::optional<boot_time> next;
  if (!quiet_.empty()) next = quiet_.front().first;
  for (const auto& [serial, which] : paused_) {
    const auto it = tasks_.find(serial);
    if (it == tasks_.end()) continue;
    const auto end = flow_of(*it->second, which).buffer.stall_ends();
    if (end && (!next || *end < *next)) next = end;
  }
  return next;
}

std::optional<boot_time> task_io::silent_since() const {
  if (!up_ || (in_flight_ == 0 && ends_open_ == 0)) return std::nullopt;
  return received_;
}

bool task_io::flushed() const {
  return std::all_of(tasks_.begin(), tasks_.end(), [](const auto& entry) {
    return entry.second->out.buffer.held() == 0 && entry.second->err.buffer.held() == 0;
  });
}

void task_io::settle(task& t) {
  if (!t.finished || !t.out.buffer.done() || !t.err.buffer.done()) return;
  serials_.erase(t.operation);
  tasks_.erase(t.serial);
}

} // namespace quell::worker
