// The read position of each channel of a service, so that messages sent while we were offline can be fetched. Pure.
//
// A message counts as processed once quelld has decided about it and about all messages before it: a message lost in
// between is fetched again, and a repeated message is recognised by its id.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace quell::integrations::chat {

class handled_marks {
 public:
  /// Above `most_channels` the one in which nothing was said for longest is forgotten.
  explicit handled_marks(std::size_t most_channels = 2000) : most_channels_(most_channels) {}

  /// The order of ids: by length, then by digits.
  struct by_number {
    bool operator()(const std::string& a, const std::string& b) const {
      return a.size() != b.size() ? a.size() < b.size() : a < b;
    }
  };

  /// A message has arrived, and its decision is pending.
  void comes(const std::string& channel, const std::string& id) {
    auto& c = at(channel);
    c.open.insert(id);
    if (by_number{}(c.last, id)) c.last = id;
  }
  /// The message is decided, or is not for us.
  void done(const std::string& channel, const std::string& id) {
    auto& c = at(channel);
    c.open.erase(id);
    if (by_number{}(c.last, id)) c.last = id;
    const auto before = c.handled;
    // Everything before the oldest undecided message is processed.
    if (c.open.empty())
      c.handled = c.last;
    else if (by_number{}(id, *c.open.begin()) && by_number{}(c.handled, id))
      c.handled = id;
    if (c.handled != before) ++changes_;
  }
  /// Restores a position from an earlier process.
  void recall(const std::string& channel, const std::string& id) { at(channel).handled = at(channel).last = id; }
  /// The channel no longer exists for us.
  void forget(const std::string& channel) { changes_ += channels_.erase(channel); }

  /// Each channel with the newest id up to which everything is processed.
  std::map<std::string, std::string> all() const {
    std::map<std::string, std::string> marks;
    for (const auto& [name, c] : channels_)
      if (!c.handled.empty()) marks.emplace(name, c.handled);
    return marks;
  }
  std::size_t changes() const { return changes_; }

 private:
  struct channel {
    std::string handled, last;
    std::set<std::string, by_number> open{};
    std::size_t used = 0;
  };

  channel& at(const std::string& name) {
    if (channels_.size() >= most_channels_ && !channels_.contains(name)) forget_one();
    auto& c = channels_[name];
    c.used = ++clock_;
    return c;
  }

  /// Rather one without an undecided message.
  void forget_one() {
    const auto is_older = [](const auto& a, const auto& b) {
      return std::pair(!a.second.open.empty(), a.second.used) < std::pair(!b.second.open.empty(), b.second.used);
    };
    channels_.erase(std::min_element(channels_.begin(), channels_.end(), is_older));
  }

  std::size_t most_channels_;
  std::map<std::string, channel> channels_;
  std::size_t changes_ = 0, clock_ = 0;
};

} // namespace quell::integrations::chat
