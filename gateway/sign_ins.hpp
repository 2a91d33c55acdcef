// Sign-ins of browsers: a cookie that stands for a token for a while, and links that sign in once. Pure; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/fault.hpp"
#include "protocol/time.hpp"

namespace quell::controller::http {

/// One signed-in browser. Only the hash of its secret is kept.
struct sign_in {
  std::string id; ///< for display and answers; grants no access
  std::string secret_hash;
  std::string token;      ///< the id of the token that it stands for, or `bootstrap`
  std::string token_hash; ///< the sign-in ends if the token's hash changes
  wall_time created_at{}, expires_at{};
  friend bool operator==(const sign_in&, const sign_in&) = default;
};

class sign_in_table {
 public:
  static constexpr std::chrono::hours idle_life{24};          ///< lifetime without a renewal
  static constexpr std::chrono::hours whole_life{30 * 24};    ///< lifetime with renewals
  static constexpr std::chrono::minutes renewal_interval{30}; ///< the end is not written more often than this
  static constexpr std::chrono::hours link_life{1};
  static constexpr std::size_t most_per_token = 32; ///< of each kind; the oldest makes room

  /// Adds a sign-in with this secret and the fresh `id`.
  sign_in open(std::string id, std::string_view secret, std::string token, std::string token_hash, wall_time now);
  const sign_in* find(std::string_view secret, wall_time now) const;
  /// Extends it; false if it was extended recently.
  bool renew(const std::string& id, wall_time now);
  bool is_open(const std::string& id, wall_time now) const;
  /// False: there is none.
  bool end(const std::string& id);
  /// The token has ended; ends everything that stands for it.
  void end_token(const std::string& token);

  /// Adds a link's secret, which is valid once.
  void add_link(std::string_view secret, std::string token, std::string token_hash, wall_time now);
  struct link {
    std::string token, token_hash;
    wall_time expires_at{};
  };
  std::optional<link> take_link(std::string_view secret, wall_time now);

  /// The sign-ins (not the links) as text, and the reverse: unreadable entries are skipped.
  std::string text() const;
  void restore(std::string_view text, wall_time now);
  std::size_t size() const { return open_.size(); }

 private:
  void drop_old(wall_time now);
  std::map<std::string, sign_in> open_;        ///< by id
  std::map<std::string, std::string> by_hash_; ///< ids
  std::map<std::string, link> links_;          ///< by hash
};

/// The file of the sign-ins, which several threads write.
struct sign_in_file {
  std::mutex one_at_a_time;
  std::uint64_t written = 0; ///< number of the change in the file
};

/// The value of this cookie in a `Cookie` header; "" = absent.
std::string_view cookie_in(std::string_view header, std::string_view name);
/// `quell_session_PORT`: cookies do not distinguish ports, so without it two controllers on one host would share them.
std::string cookie_name(std::string_view host);
/// True if `origin` (`http://HOST:PORT`) names the same server as `host`.
bool is_same_origin(std::string_view origin, std::string_view host);

} // namespace quell::controller::http
