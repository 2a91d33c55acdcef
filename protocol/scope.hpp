// Scope paths such as `discord/guild-1/channel-2`: validated once, compared by whole segments.
#pragma once

#include <compare>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/fault.hpp"

namespace quell {

/// A valid scope (SURFACE 1): 1 to 16 segments joined by `/`, each 1 to 128 of `A-Z a-z 0-9 . _ - : @ + = ~`, not `.`
/// or `..`, at most 512 bytes in all. An invalid one cannot be built; the default value is `default`.
class scope_path {
 public:
  scope_path() = default;

  /// The scope of `text`, or fault `bad_scope`, which says which rule is broken and where.
  static result<scope_path> parse(std::string_view text);

  const std::string& text() const { return text_; }
  std::vector<std::string_view> segments() const;
  std::size_t depth() const;
  /// The scope one segment up; nullopt for a scope of one segment.
  std::optional<scope_path> parent() const;
  /// The scope of its first `segments` segments (at least one); itself if it has no more.
  scope_path first(std::size_t segments) const;
  /// The place whose people share what quell has for a place: a guild, a workspace, a network; its first two segments.
  scope_path guild() const { return first(2); }
  /// True for the same scope and for every scope below `other`. `team/ab` is not below `team/a`.
  bool is_at_or_below(const scope_path& other) const;

  friend auto operator<=>(const scope_path&, const scope_path&) = default;

 private:
  explicit scope_path(std::string text) : text_(std::move(text)) {}
  std::string text_ = "default";
};

} // namespace quell

template <>
struct std::hash<quell::scope_path> {
  std::size_t operator()(const quell::scope_path& s) const noexcept { return std::hash<std::string>{}(s.text()); }
};
