// ZAP frames in, verdicts out. The User-Id of an accepted handshake is the key itself, so that every later frame names
// its sender.
#include "protocol/socket_zap.hpp"

#include <array>

namespace quell {

namespace {

constexpr std::size_t max_remembered_refusals = 1000;
constexpr std::chrono::minutes refusal_pause{1};

std::string z85(const zmq::message_t& raw) {
  std::array<char, 41> text{};
  if (raw.size() != 32 || !zmq_z85_encode(text.data(), raw.data<std::uint8_t>(), raw.size())) return {};
  return text.data();
}

} // namespace

zap_authenticator::zap_authenticator(zmq::context_t& context) : socket_(context, zmq::socket_type::rep) {
  socket_.set(zmq::sockopt::linger, 0);
  socket_.bind("inproc://zeromq.zap.01");
}

void zap_authenticator::allow(std::vector<std::string> public_keys) {
  std::unordered_set<std::string> next(std::make_move_iterator(public_keys.begin()),
                                       std::make_move_iterator(public_keys.end()));
  const std::lock_guard lock(guard_);
  allowed_.swap(next);
}

bool zap_authenticator::is_allowed(std::string_view public_key) const {
  const std::lock_guard lock(guard_);
  return allowed_.contains(std::string(public_key));
}

void zap_authenticator::answer(const std::function<void(std::string_view key)>& refused) {
  for (;;) {
    // version, request id, domain, address, identity, mechanism, credentials
    std::vector<zmq::message_t> question;
    zmq::message_t part;
    if (!socket_.recv(part, zmq::recv_flags::dontwait)) return;
    question.push_back(std::move(part));
    while (socket_.get(zmq::sockopt::rcvmore)) {
      zmq::message_t next;
      if (!socket_.recv(next)) break;
      question.push_back(std::move(next));
    }
    const bool is_curve = question.size() == 7 && question[5].to_string_view() == "CURVE";
    const std::string key = is_curve ? z85(question[6]) : std::string();
    const bool good = !key.empty() && is_allowed(key);
    const auto say = [this](std::string_view text, zmq::send_flags more) {
      (void)socket_.send(zmq::buffer(text), more);
    };
    say("1.0", zmq::send_flags::sndmore);
    say(question.size() > 1 ? question[1].to_string_view() : std::string_view(), zmq::send_flags::sndmore);
    say(good ? "200" : "400", zmq::send_flags::sndmore);
    say(good ? "OK" : "key not enrolled", zmq::send_flags::sndmore);
    say(good ? std::string_view(key) : std::string_view(), zmq::send_flags::sndmore);
    say("", zmq::send_flags::none);
    if (!good && !key.empty()) tell(key, refused);
  }
}

void zap_authenticator::tell(const std::string& key, const std::function<void(std::string_view key)>& refused) {
  const auto now = std::chrono::steady_clock::now();
  const auto known = reported_.find(key);
  if (known != reported_.end() && now - known->second < refusal_pause) return;
  // An unknown peer can come with ever new keys; then some keys are reported twice, but memory stays bounded.
  if (reported_.size() >= max_remembered_refusals) reported_.clear();
  reported_[key] = now;
  if (refused) refused(key);
}

} // namespace quell
