// Decides when a connector stores its state for a restart: at each change while it is small, else soon after one, and
// the later the more there is to write.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "integrations/chat/chat.hpp"
#include "protocol/time.hpp"

namespace quell::integrations::chat {

/// One thread at a time.
class notebook {
 public:
  explicit notebook(memory m) : memory_(std::move(m)) {}

  bool is_kept() const { return memory_.keep != nullptr; }
  std::string recall() const { return memory_.recall ? memory_.recall() : std::string(); }

  /// `version` grows with every change; `make` returns the state to store. Returns the latest time for the next call.
  std::optional<boot_time> keep(std::uint64_t version, boot_time now, const std::function<std::string()>& make) {
    if (!is_kept() || version == written_) return std::nullopt;
    if (const auto at = last_ + between(text_.size()); text_.size() > most_at_once && last_ != boot_time{} && now < at)
      return at;
    write(version, now, make());
    return std::nullopt;
  }
  /// Nothing of this version is still to be written.
  bool has(std::uint64_t version) const { return !is_kept() || version == written_; }
  /// The last text that was written is stored for the next process.
  bool is_stored() const { return !is_kept() || is_stored_; }

  /// Stores a changed state at once, for the shutdown.
  void close(std::uint64_t version, boot_time now, const std::function<std::string()>& make) {
    if (is_kept() && version != written_) write(version, now, make());
  }

 private:
  /// Bytes. A message that is about to leave is known to the next process then, however soon this one dies.
  static constexpr std::size_t most_at_once = 32 << 10;
  /// About 512 KiB a second.
  static constexpr milliseconds between(std::size_t bytes) {
    constexpr milliseconds least{250};
    return std::max(least, milliseconds{bytes >> 9});
  }

  void write(std::uint64_t version, boot_time now, std::string text) {
    written_ = version;
    last_ = now;
    if (is_stored_ && text == text_) return;
    is_stored_ = memory_.keep(text);
    text_ = std::move(text);
  }

  memory memory_;
  std::uint64_t written_ = 0;
  boot_time last_{};
  std::string text_;
  bool is_stored_ = true; ///< as `text_`
};

} // namespace quell::integrations::chat
