// Moves task output and input on the bulk thread.
#include "worker/task_io.hpp"

#include <cerrno>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "worker/clocks.hpp"

namespace quell::worker {

namespace {
constexpr std::size_t read_bytes = 64 * 1024;
constexpr auto quiet_time = std::chrono::milliseconds{50};
constexpr std::size_t most_at_the_end = 2 * 1024 * 1024; ///< a pipe holds at most 1 MiB; more is still being written
} // namespace

task_io::task::task(task_streams s, std::uint64_t n, output_buffer::settings o, output_budget& b)
    : operation(s.operation), serial(n), pty(s.pty), out(o, b), err(o, b), in(std::move(s.in)),
      input(s.pty ? input_buffer::reader::terminal : input_buffer::reader::pipe) {
  out.fd = std::move(s.out);
  err.fd = std::move(s.err);
  if (!in) input.close();
}

task_io::task_io(settings s, int epoll, std::function<std::uint64_t(std::uint64_t, port)> token, send_piece send,
                 std::function<void(wire::bulk_message)> say)
    : settings_(s), epoll_(epoll), token_(std::move(token)), send_(std::move(send)),
      say_(std::move(say)), budget_{s.output_bytes, 0}, scratch_(read_bytes, '\0') {}

task_io::task* task_io::find(const operation_id& operation) {
  const auto it = serials_.find(operation);
  return it == serials_.end() ? nullptr : find(it->second);
}

task_io::task* task_io::find(std::uint64_t serial) {
  const auto it = tasks_.find(serial);
  return it == tasks_.end() ? nullptr : it->second.get();
}

void task_io::add(task_streams streams) {
  const std::uint64_t serial = ++last_serial_;
  serials_[streams.operation] = serial;
  auto& t = *(tasks_[serial] = std::make_unique<task>(std::move(streams), serial, settings_.output, budget_));
  watch(t, port::out);
  if (t.err.fd) watch(t, port::err);
}

void task_io::watch(task& t, port which) {
  flow& f = flow_of(t, which);
  if (!f.fd || f.watched) return;
  epoll_event event{EPOLLIN, {.u64 = token_(t.serial, which)}};
  f.watched = ::epoll_ctl(epoll_, EPOLL_CTL_ADD, f.fd.get(), &event) == 0;
}

void task_io::unwatch(flow& f) {
  if (std::exchange(f.watched, false)) ::epoll_ctl(epoll_, EPOLL_CTL_DEL, f.fd.get(), nullptr);
}

void task_io::ready(std::uint64_t serial, port which, boot_time now) {
  task* t = find(serial);
  if (!t) return;
  if (which == port::in) return write_input(*t);
  read(*t, which, now);
}

void task_io::read(task& t, port which, boot_time now) {
  flow& f = flow_of(t, which);
  if (!f.fd) return;
  if (!f.buffer.wants_bytes(now)) {
    unwatch(f);
    if (!std::exchange(f.paused, true)) paused_.emplace_back(t.serial, which);
    return;
  }
  const auto n = ::read(f.fd.get(), scratch_.data(), scratch_.size());
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) return end_flow(t, which); // EOF; a PTY reports EIO
  f.buffer.took(std::string_view(scratch_).substr(0, static_cast<std::size_t>(n)));
  enqueue(t, which);
}

/// Most streams end because their task does, and its result is about to say the same for both. A stream that was closed
/// early is announced a little later.
void task_io::end_flow(task& t, port which) {
  flow& f = flow_of(t, which);
  unwatch(f);
  f.fd.reset();
  f.buffer.finish_quietly();
  quiet_.emplace_back(boot_now() + quiet_time, place(t.serial, which));
  enqueue(t, which);
}

/// The end of the task, or of its terminal.
void task_io::close_flow(task& t, port which) {
  flow& f = flow_of(t, which);
  if (f.fd) {
    unwatch(f);
    f.fd.reset();
  }
  f.buffer.finish();
  enqueue(t, which);
}

void task_io::announce_ends(boot_time now) {
  while (!quiet_.empty()) {
    const auto [due, which] = quiet_.front();
    task* t = find(which.first);
    if (t && !t->finished && due > now) return;
    quiet_.pop_front();
    if (!t || t->finished) continue;
    flow_of(*t, which.second).buffer.announce_end();
    enqueue(*t, which.second);
  }
}

void task_io::drain(flow& f) {
  for (std::size_t all = 0; f.fd && all < most_at_the_end;) {
    const auto n = ::read(f.fd.get(), scratch_.data(), scratch_.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    f.buffer.took(std::string_view(scratch_).substr(0, static_cast<std::size_t>(n)), output_buffer::writer::has_ended);
    all += static_cast<std::size_t>(n);
  }
}

output_counts task_io::finish(const operation_id& operation, boot_time) {
  task* t = find(operation);
  if (!t) return {};
  drain(t->out);
  drain(t->err);
  for (const port which : {port::out, port::err}) {
    flow_of(*t, which).buffer.conclude();
    close_flow(*t, which);
  }
  close_input(*t);
  t->finished = true;
  const output_counts counts{t->out.buffer.total(), t->err.buffer.total(),
                             t->out.buffer.dropped() + t->err.buffer.dropped()};
  settle(*t);
  return counts;
}

void task_io::forget(const operation_id& operation) {
  task* t = find(operation);
  if (!t) return;
  close_input(*t);
  t->finished = true;
  for (const port which : {port::out, port::err}) {
    flow& f = flow_of(*t, which);
    in_flight_ -= std::min(in_flight_, f.buffer.in_flight());
    f.buffer.forget();
  }
  settle(*t);
}

void task_io::hang_up(const operation_id& operation) {
  task* t = find(operation);
  if (!t || !t->pty) return;
  drain(t->out);
  close_input(*t);
  close_flow(*t, port::out);
}

void task_io::resize(const operation_id& operation, std::uint16_t rows, std::uint16_t columns) {
  task* t = find(operation);
  if (!t || !t->pty || !t->out.fd) return;
  const winsize size{rows, columns, 0, 0};
  ::ioctl(t->out.fd.get(), TIOCSWINSZ, &size);
}

void task_io::receive(const wire::output_ack& m, boot_time now) {
  received_ = now;
  ends_open_ = 0;
  task* t = find(m.operation);
  if (!t) return;
  const port which = m.which == stream::err ? port::err : port::out;
  flow& f = flow_of(*t, which);
  if (m.unknown) {
    in_flight_ -= std::min(in_flight_, f.buffer.in_flight());
    f.buffer.forget();
  } else {
    in_flight_ -= std::min(in_flight_, f.buffer.acknowledged(m.offset));
  }
  settle(*t);
}

void task_io::receive(const wire::input& m) {
  task* t = find(m.operation);
  if (!t) return; // not here yet, or over: its end is reported separately
  t->input.offer(m);
  write_input(*t);
}

void task_io::write_input(task& t) {
  while (t.in && !t.input.waiting().empty()) {
    const auto n = ::write(t.in.get(), t.input.waiting().data(), t.input.waiting().size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) break;
    if (n <= 0) {
      close_input(t);
      break;
    }
    t.input.written(static_cast<std::size_t>(n));
  }
  if (t.in && t.input.at_end() &&
      !t.pty) { // a PTY has read its end-of-file character; its master stays open for output
    t.in.reset();
    t.input_watched = false;
  }
  const bool wanted = t.in && !t.input.waiting().empty();
  if (wanted != t.input_watched && t.in) {
    epoll_event event{EPOLLOUT, {.u64 = token_(t.serial, port::in)}};
    ::epoll_ctl(epoll_, wanted ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, t.in.get(), &event);
    t.input_watched = wanted;
  }
  say_(wire::input_ack{t.operation, t.input.drained(), t.input.closed()});
}

void task_io::close_input(task& t) {
  if (!t.in) return;
  if (std::exchange(t.input_watched, false)) ::epoll_ctl(epoll_, EPOLL_CTL_DEL, t.in.get(), nullptr);
  t.in.reset();
  t.input.close();
  say_(wire::input_ack{t.operation, t.input.drained(), true});
}

} // namespace quell::worker
