// The ring's file has a line for each entry: a name, a space, the value.
#include "worker/key_ring.hpp"

#include <map>
#include <sstream>

namespace quell::worker {
namespace {

std::map<std::string, std::string> entries_of(const std::string& text) {
  std::map<std::string, std::string> all;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (const auto at = line.find(' '); at != std::string::npos) all[line.substr(0, at)] = line.substr(at + 1);
  return all;
}

std::string one_line(std::string text) {
  constexpr std::size_t most = 1000;
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  text.resize(std::min(text.size(), most));
  return text;
}

} // namespace

result<key_ring> key_ring::read(const std::string& text, key_pair given, std::string controller) {
  auto entries = entries_of(text);
  const auto damaged = [](const std::string& name) {
    return failure("bad_key", "the file `keys` of the state directory is damaged at `" + name +
                                  "`; restore it, or remove it and enrol the worker anew");
  };
  key_ring r;
  r.given_ = given.public_key;
  r.given_controller_ = controller;
  r.key_ = std::move(given);
  r.controller_ = std::move(controller);
  if (entries["given"] == r.given_) {
    if (const auto& secret = entries["key"]; !secret.empty()) {
      auto pair = key_pair::from_secret(secret);
      if (!pair) return damaged("key");
      r.key_ = std::move(*pair);
    }
    if (const auto& secret = entries["next"]; !secret.empty()) {
      auto pair = key_pair::from_secret(secret);
      if (!pair) return damaged("next");
      r.next_ = std::move(*pair);
    }
    r.refusal_ = entries["refused"];
  }
  if (entries["given-controller"] == r.given_controller_) {
    for (const auto& [name, into] : {std::pair{"controller", &r.controller_}, {"next-controller", &r.next_controller_}})
      if (const auto& key = entries[name]; !key.empty()) {
        if (!is_public_key(key)) return damaged(name);
        *into = key;
      }
  }
  return r;
}

key_ring::summary key_ring::look_at(const std::string& text) {
  auto entries = entries_of(text);
  summary s;
  if (const auto pair = key_pair::from_secret(entries["key"])) s.public_key = pair->public_key;
  s.is_changing = !entries["next"].empty();
  s.refusal = entries["refused"];
  return s;
}

std::string key_ring::text() const {
  std::string all = "given " + given_ + "\n";
  if (key_.public_key != given_) all += "key " + key_.secret_key + "\n";
  if (next_) all += "next " + next_->secret_key + "\n";
  if (!refusal_.empty()) all += "refused " + refusal_ + "\n";
  all += "given-controller " + given_controller_ + "\n";
  if (controller_ != given_controller_) all += "controller " + controller_ + "\n";
  if (!next_controller_.empty()) all += "next-controller " + next_controller_ + "\n";
  return all;
}

bool key_ring::try_another() {
  if (!next_ && next_controller_.empty()) return false;
  if (next_) uses_next_ = !uses_next_;
  // Every combination gets its turn: the controller's key changes with every second step.
  if (!next_controller_.empty() && !uses_next_) uses_next_controller_ = !uses_next_controller_;
  return true;
}

bool key_ring::try_next_controller() {
  if (next_controller_.empty()) return false;
  uses_next_controller_ = true;
  return true;
}

bool key_ring::worked() {
  if (!uses_next_ && !uses_next_controller_) return false;
  if (uses_next_) {
    key_ = std::move(*next_);
    next_.reset();
  }
  if (uses_next_controller_) controller_ = std::exchange(next_controller_, {});
  uses_next_ = uses_next_controller_ = false;
  return true;
}

void key_ring::prepare(key_pair fresh) {
  refusal_.clear();
  if (!next_) next_ = std::move(fresh);
}

std::optional<std::string> key_ring::offer() const {
  if (!next_) return std::nullopt;
  return next_->public_key;
}

void key_ring::refuse(std::string why) {
  next_.reset();
  uses_next_ = false;
  refusal_ = one_line(std::move(why));
}

bool key_ring::learn_controller(const std::string& public_key) {
  if (!is_public_key(public_key) || public_key == controller() || public_key == next_controller_) return false;
  next_controller_ = public_key;
  uses_next_controller_ = false;
  return true;
}

} // namespace quell::worker
