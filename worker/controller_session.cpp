// Sessions with the controller, one after the other.
#include "worker/controller_session.hpp"

#include <algorithm>
#include <array>

#include "protocol/refusal_code.hpp"

namespace quell::worker {

using namespace std::chrono_literals;

namespace {

bool is_bare_acknowledgement(const wire::envelope& e) {
  const auto* a = std::get_if<wire::acknowledge>(&e.body);
  return e.number == 0 && a && !a->resend;
}

/// The controller decides nothing by the acknowledgement of these, and a report of the task follows soon.
bool can_wait_for_its_acknowledgement(const wire::message& body) {
  return std::holds_alternative<wire::start>(body) || std::holds_alternative<wire::results_stored>(body);
}

} // namespace

void controller_session::greet(wire::hello hello, boot_time now) {
  phase_ = phase::greeting;
  held_by_another_ = false;
  // The controller tells a late hello from a new one by the time in these ids, so that time must increase, whatever the
  // wall clock does.
  if (!id_.is_nil() && hello.proposed.time() <= id_.time()) {
    std::array<std::uint8_t, 10> random{};
    std::copy(hello.proposed.bytes.begin() + 6, hello.proposed.bytes.end(), random.begin());
    hello.proposed.bytes = make_uuid7(id_.time() + 1ms, random);
  }
  id_ = hello.proposed;
  sender_ = channel_sender{};
  receiver_ = channel_receiver{};
  outbox_.clear();
  delivered_ = ack_carried_ = 0;
  ack_by_ = {};
  hello_sent_ = now;
  hello.cluster = membership_.cluster;
  hello.epoch_seen = membership_.epoch;
  hello.seq_seen = membership_.seq_seen;
  queue(0, std::move(hello));
}

void controller_session::queue(std::uint64_t number, wire::message body, boot_time at) {
  due_ = outbox_.empty() ? at : std::min(due_, at);
  if (outbox_.size() == 1 && is_bare_acknowledgement(outbox_.front())) outbox_.pop_front(); // this one carries it
  outbox_.push_back({id_, number, 0, std::move(body)});
}

void controller_session::tell(wire::message body, boot_time now) {
  if (phase_ == phase::apart) return;
  const auto before = std::exchange(last_message_at_, now);
  if (phase_ == phase::open) {
    const auto number = sender_.push(body, now);
    boot_time at{};
    if (std::holds_alternative<wire::task_started>(body)) at = before + timing_.longest_company;
    // With a grace the task may live on, and whoever asks when it is killed waits for this report.
    if (const auto* s = std::get_if<wire::task_stopping>(&body); s && s->kill_at <= s->signalled_at)
      at = now + timing_.longest_company_of_stops;
    queue(number, std::move(body), at);
  } else {
    sender_.push(std::move(body), now); // sent with the welcome
  }
  if (sender_.overflown()) end("the controller has left too many frames unacknowledged", now);
}

std::optional<wire::message> controller_session::receive(wire::envelope frame, boot_time now) {
  // A controller of another version cannot read the session's id, so its refusal carries none.
  const bool refused_unread =
      phase_ == phase::greeting && frame.session == session_id{} && std::holds_alternative<wire::refuse>(frame.body);
  if (phase_ == phase::apart || (frame.session != id_ && !refused_unread)) return std::nullopt;
  if (phase_ == phase::greeting) {
    if (const auto* r = std::get_if<wire::refuse>(&frame.body)) {
      refused(*r, now);
      return std::nullopt;
    }
    const auto* w = std::get_if<wire::welcome>(&frame.body);
    if (!w || frame.number != 1) return std::nullopt;
    receiver_.accept(1);
    delivered_ = 1;
    welcomed(*w, now);
    if (phase_ != phase::open) return std::nullopt;
    return std::move(frame.body);
  }
  if (!sender_.acknowledged(frame.ack, now)) {
    end("the controller acknowledged a frame that was never sent", now);
    return std::nullopt;
  }
  if (frame.number != 0) {
    switch (receiver_.accept(frame.number)) {
    case channel_receiver::verdict::deliver:
      break;
    case channel_receiver::verdict::duplicate:
      queue(0, wire::acknowledge{false});
      return std::nullopt;
    case channel_receiver::verdict::gap:
      queue(0, wire::acknowledge{true});
      return std::nullopt;
    }
    const auto by = can_wait_for_its_acknowledgement(frame.body) ? now + timing_.longest_company : boot_time{};
    ack_by_ = delivered_ > ack_carried_ ? std::min(ack_by_, by) : by;
    delivered_ = frame.number;
    if (const auto* start = std::get_if<wire::start>(&frame.body))
      membership_.seq_seen = std::max(membership_.seq_seen, start->seq);
    else if (const auto* stop = std::get_if<wire::stop>(&frame.body))
      membership_.seq_seen = std::max(membership_.seq_seen, stop->seq);
    else if (const auto* h = std::get_if<wire::handover>(&frame.body)) {
      lease_.handover_received(now, std::clamp<milliseconds>(h->lease, 100ms, 168h));
      lease_changed_ = true;
    }
    return std::move(frame.body);
  }
  if (const auto* a = std::get_if<wire::acknowledge>(&frame.body)) {
    if (a->resend)
      for (auto& [number, body] : sender_.resend(now, channel_sender::resend_cause::gap_reported))
        queue(number, std::move(body));
  } else if (const auto* g = std::get_if<wire::lease_granted>(&frame.body)) {
    received_ = now;
    if (lease_.granted(g->beat, std::clamp<milliseconds>(g->length, 100ms, 168h))) lease_changed_ = true;
  } else if (const auto* r = std::get_if<wire::refuse>(&frame.body)) {
    refused(*r, now);
  }
  return std::nullopt;
}

void controller_session::welcomed(const wire::welcome& w, boot_time now) {
  if (w.version != wire::protocol_version) {
    stuck_ = dead_end{"the controller speaks protocol version " + std::to_string(w.version) + ", this worker " +
                      std::to_string(wire::protocol_version) + "; install the same version on both"};
    return end(stuck_->message, now);
  }
  if (membership_.cluster && *membership_.cluster != w.cluster) {
    stuck_ = dead_end{"this worker belongs to cluster " + membership_.cluster->text() + ", the controller to " +
                      w.cluster.text() + "; use another --state directory to join another cluster"};
    return end(stuck_->message, now);
  }
  if (w.epoch < membership_.epoch) {
    backoff_ = timing_.longest_backoff;
    return end(
        "the controller's epoch " + std::to_string(w.epoch) + " is below " + std::to_string(membership_.epoch) +
            ", which this worker has seen; if its store was restored from a backup, start it with `quelld --restored`",
        now);
  }
  membership_.cluster = w.cluster;
  membership_.epoch = w.epoch;
  name_ = w.worker;
  heartbeat_ = std::clamp<milliseconds>(w.heartbeat, 10ms, 1h);
  lease_.welcomed(hello_sent_, std::clamp<milliseconds>(w.lease, 100ms, 168h));
  lease_changed_ = true;
  phase_ = phase::open;
  backoff_ = 0ms;
  received_ = now;
  next_beat_ = hello_sent_ + heartbeat_;
  receiver_.applied(1);
  for (auto& [number, body] : sender_.resend(now, channel_sender::resend_cause::gap_reported))
    queue(number, std::move(body));
}

void controller_session::refused(const wire::refuse& r, boot_time now) {
  if (r.retry_after <= 0ms && !has_code(r, refusal_code::not_enrolled)) {
    stuck_ = dead_end{"the controller refuses this worker (" + r.code + "): " + r.message};
    return end(stuck_->message, now);
  }
  held_by_another_ = has_code(r, refusal_code::lease_held);
  end("the controller refuses this worker (" + r.code + "): " + r.message, now);
  const milliseconds soonest = has_code(r, refusal_code::not_enrolled) ? 2s : 100ms;
  next_hello_ = now + std::clamp<milliseconds>(r.retry_after, soonest, 60s);
}

void controller_session::end(std::string why, boot_time now) {
  if (phase_ == phase::apart) return;
  why_ended_ = std::move(why);
  phase_ = phase::apart;
  outbox_.clear();
  backoff_ = std::clamp(backoff_ * 2, timing_.first_backoff, timing_.longest_backoff);
  next_hello_ = now + backoff_;
}

void controller_session::acknowledge() {
  if (phase_ == phase::open && receiver_.ack() > ack_carried_ && outbox_.empty())
    queue(0, wire::acknowledge{false}, ack_by_);
}

void controller_session::tick(boot_time now) {
  if (phase_ == phase::greeting && now - hello_sent_ >= timing_.welcome_wait)
    return end("the controller did not answer the hello within " +
                   std::to_string(std::chrono::duration_cast<std::chrono::seconds>(timing_.welcome_wait).count()) +
                   " s",
               now);
  if (phase_ != phase::open) return;
  if (lease_.over(now)) return end("the lease is over", now);
  if (now - received_ >= heartbeat_ * timing_.missed_beats + heartbeat_ / 2)
    return end("the controller left " + std::to_string(timing_.missed_beats) + " heartbeats unanswered", now);
  if (now >= next_beat_) {
    lease_.sent(++beat_, now);
    queue(0, wire::worker_heartbeat{beat_, receiver_.ack()});
    next_beat_ = now + heartbeat_;
  }
  for (auto& [number, body] : sender_.resend(now, channel_sender::resend_cause::time_passed))
    queue(number, std::move(body));
}

boot_time controller_session::next_tick() const {
  switch (phase_) {
  case phase::apart:
    return next_hello_;
  case phase::greeting:
    return hello_sent_ + timing_.welcome_wait;
  case phase::open:
    return std::min(next_beat_, sender_.next_resend().value_or(next_beat_));
  }
  return next_beat_;
}

std::optional<boot_time> controller_session::due() const {
  if (outbox_.empty()) return std::nullopt;
  return receiver_.ack() > ack_carried_ ? std::min(due_, ack_by_) : due_;
}

const wire::envelope* controller_session::next_frame() {
  if (outbox_.empty()) return nullptr;
  outbox_.front().ack = receiver_.ack();
  return &outbox_.front();
}

void controller_session::sent() {
  ack_carried_ = std::max(ack_carried_, outbox_.front().ack);
  outbox_.pop_front();
}

} // namespace quell::worker
