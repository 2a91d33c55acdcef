// How far each channel of a service was heard: so that what was said while nobody listened can be asked for. Pure.
//
// A message counts as heard once quelld has decided about it, and only when all before it have been: what is lost in
// between is asked for again, and a message that comes twice is known by its id.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace quell::integrations::chat {

class heard_marks {
 public:
  /// `Order` of ids: shorter ones first, then by their digits.
  struct by_number {
    bool operator()(const std::string& a, const std::string& b) const {
      return a.size() != b.size() ? a.size() < b.size() : a < b;
    }
  };

  /// A message came, and is being decided about.
  void comes(const std::string& channel, const std::string& id) {
    auto& c = at(channel);
    c.open.insert(id);
    if (by_number{}(c.last, id)) c.last = id;
  }
  /// It is decided, or is none of ours.
  void done(const std::string& channel, const std::string& id) {
    auto& c = at(channel);
    c.open.erase(id);
    if (by_number{}(c.last, id)) c.last = id;
    const auto before = c.heard;
    // Everything before the oldest open one is heard.
    if (c.open.empty())
      c.heard = c.last;
    else if (by_number{}(id, *c.open.begin()) && by_number{}(c.heard, id))
      c.heard = id;
    if (c.heard != before) ++changes_;
  }
  /// Of an earlier life.
  void recall(const std::string& channel, const std::string& id) { at(channel).heard = at(channel).last = id; }
  /// Nobody can speak there any more.
  void forget(const std::string& channel) { changes_ += channels_.erase(channel); }

  /// Channel to the newest id before which everything was heard.
  std::map<std::string, std::string> all() const {
    std::map<std::string, std::string> marks;
    for (const auto& [name, c] : channels_)
      if (!c.heard.empty()) marks.emplace(name, c.heard);
    return marks;
  }
  std::size_t changes() const { return changes_; }

 private:
  static constexpr std::size_t most_channels = 2000;
  struct channel {
    std::string heard, last;
    std::set<std::string, by_number> open{};
    std::size_t used = 0;
  };

  channel& at(const std::string& name) {
    if (channels_.size() >= most_channels && !channels_.contains(name)) {
      auto oldest = channels_.begin();
      for (auto i = channels_.begin(); i != channels_.end(); ++i)
        if (i->second.open.empty() && i->second.used < oldest->second.used) oldest = i;
      channels_.erase(oldest);
    }
    auto& c = channels_[name];
    c.used = ++clock_;
    return c;
  }

  std::map<std::string, channel> channels_;
  std::size_t changes_ = 0, clock_ = 0;
};

} // namespace quell::integrations::chat
