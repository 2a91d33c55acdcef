// Reads WWW-Authenticate: `scheme name=value, name="value", scheme …`, with commas anywhere in between.
#include "integrations/oauth/challenge.hpp"

#include <algorithm>

#include "integrations/models/web_request.hpp"

namespace quell::integrations::oauth {
namespace {

constexpr std::size_t most_bytes = 2048; ///< of a value

bool is_token(char c) {
  constexpr std::string_view extra = "!#$%&'*+-.^_`|~";
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || extra.find(c) != extra.npos;
}

/// Visible ASCII; single spaces may separate the items of a list.
bool is_plain(std::string_view text) {
  return text.size() <= most_bytes &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return c >= ' ' && c < 0x7F && c != '"'; });
}

class reader {
 public:
  explicit reader(std::string_view text) : rest_(text) {}

  void skip_gaps() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\t' || rest_.front() == ','))
      rest_.remove_prefix(1);
  }
  bool skip(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void skip_spaces() {
    while (rest_.starts_with(' ') || rest_.starts_with('\t')) rest_.remove_prefix(1);
  }
  bool at_end() const { return rest_.empty(); }

  std::string token() {
    const auto end = std::find_if_not(rest_.begin(), rest_.end(), is_token);
    const auto length = static_cast<std::size_t>(end - rest_.begin());
    const std::string found(rest_.substr(0, length));
    rest_.remove_prefix(length);
    return found;
  }
  std::string value() {
    if (!skip('"')) return token();
    std::string found;
    while (!rest_.empty() && !skip('"')) {
      if (rest_.starts_with('\\') && rest_.size() > 1) rest_.remove_prefix(1);
      found += rest_.front();
      rest_.remove_prefix(1);
    }
    return found;
  }
  void drop_one() { rest_.remove_prefix(1); }

 private:
  std::string_view rest_;
};

} // namespace

challenge read_challenge(std::string_view header) {
  challenge found;
  bool is_bearer = false, was_bearer = false;
  for (reader in(header); in.skip_gaps(), !in.at_end();) {
    const std::string name = lower(in.token());
    if (name.empty()) {
      in.drop_one(); // not in the grammar
      continue;
    }
    in.skip_spaces();
    if (!in.skip('=')) { // a scheme
      if (was_bearer) break;
      is_bearer = name == "bearer";
      was_bearer = is_bearer;
      continue;
    }
    in.skip_spaces();
    const std::string value = in.value();
    if (!is_bearer || !is_plain(value)) continue;
    if (name == "resource_metadata") found.resource_metadata = value;
    if (name == "scope") found.scope = value;
    if (name == "error") found.error = value;
  }
  return found;
}

} // namespace quell::integrations::oauth
