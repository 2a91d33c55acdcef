// The read position of each channel of a service, so that messages sent while we were offline can be fetched. Pure.
//
// A message counts as processed once quelld has decided about it and about all messages before it: a message lost in
// between is fetched again, and a repeated message is recognised by its id.
#pragma once

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
    place(channel, c);
  }
  /// The message is decided, or is not for us.
  void done(const std::string& channel, const std::string& id) {
    auto& c = at(channel);
    c.open.erase(id);
    place(channel, c);
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
  void forget(const std::string& channel) {
    const auto at = channels_.find(channel);
    if (at == channels_.end()) return;
    by_use_.erase(at->second.use);
    channels_.erase(at);
    ++changes_;
  }

  /// Whether everything up to some message there is processed.
  bool contains(const std::string& channel) const {
    const auto at = channels_.find(channel);
    return at != channels_.end() && !at->second.handled.empty();
  }

  /// Each channel with the newest id up to which everything is processed.
  std::map<std::string, std::string> all() const {
    std::map<std::string, std::string> marks;
    for (const auto& [name, c] : channels_)
      if (!c.handled.empty()) marks.emplace(name, c.handled);
    return marks;
  }
  std::size_t changes() const { return changes_; }

 private:
  /// Whether a message is undecided, and when it was used: the smallest is forgotten first.
  using use_key = std::pair<bool, std::size_t>;
  struct channel {
    std::string handled, last;
    std::set<std::string, by_number> open{};
    use_key use{}; ///< in `by_use_`
  };

  channel& at(const std::string& name) {
    if (channels_.size() >= most_channels_ && !channels_.contains(name)) forget_one();
    auto& c = channels_[name];
    by_use_.erase(c.use);
    c.use = {!c.open.empty(), ++clock_};
    by_use_.emplace(c.use, name);
    return c;
  }

  /// After a change of its undecided messages.
  void place(const std::string& name, channel& c) {
    if (c.use.first == !c.open.empty()) return;
    by_use_.erase(c.use);
    c.use.first = !c.open.empty();
    by_use_.emplace(c.use, name);
  }

  /// Rather one without an undecided message.
  void forget_one() {
    channels_.erase(by_use_.begin()->second);
    by_use_.erase(by_use_.begin());
  }

  std::size_t most_channels_;
  std::map<std::string, channel> channels_;
  std::map<use_key, std::string> by_use_;
  std::size_t changes_ = 0, clock_ = 0;
};

} // namespace quell::integrations::chat
