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

/// One browser that is signed in. Of its secret only the hash is kept.
struct sign_in {
  std::string id; ///< for people and answers; opens nothing
  std::string secret_hash;
  std::string token;      ///< the id of the token that it stands for, or `bootstrap`
  std::string token_hash; ///< it ends when the token is another one
  wall_time created_at{}, expires_at{};
  friend bool operator==(const sign_in&, const sign_in&) = default;
};

class sign_in_book {
 public:
  static constexpr std::chrono::hours idle_life{24};          ///< without a renewal
  static constexpr std::chrono::hours whole_life{30 * 24};    ///< renewed or not
  static constexpr std::chrono::minutes renewal_interval{30}; ///< not worth a write more often
  static constexpr std::chrono::hours link_life{1};
  static constexpr std::size_t most_per_token = 32; ///< of each kind; the oldest makes room

  /// A new one with this secret; `id` is a fresh one.
  sign_in open(std::string id, std::string_view secret, std::string token, std::string token_hash, wall_time now);
  const sign_in* find(std::string_view secret, wall_time now) const;
  /// Moves its end; false if it is not worth it yet.
  bool renew(const std::string& id, wall_time now);
  bool is_open(const std::string& id, wall_time now) const;
  /// False: there is none.
  bool end(const std::string& id);
  /// The token has ended, and all that stands for it.
  void end_token(const std::string& token);

  /// A link's secret, good once.
  void add_link(std::string_view secret, std::string token, std::string token_hash, wall_time now);
  struct link {
    std::string token, token_hash;
    wall_time expires_at{};
  };
  std::optional<link> take_link(std::string_view secret, wall_time now);

  /// The sign-ins (not the links) as text, and back: what cannot be read is left out.
  std::string text() const;
  void restore(std::string_view text, wall_time now);
  std::size_t size() const { return open_.size(); }

 private:
  void drop_old(wall_time now);
  std::map<std::string, sign_in> open_;        ///< by id
  std::map<std::string, std::string> by_hash_; ///< ids
  std::map<std::string, link> links_;          ///< by hash
};

/// The book's file, written by several threads.
struct sign_in_file {
  std::mutex one_at_a_time;
  std::uint64_t written = 0; ///< number of the change that it holds
};

/// The value of this cookie in a `Cookie` header; "" = it is not there.
std::string_view cookie_in(std::string_view header, std::string_view name);
/// `quell_session_PORT`: cookies do not keep ports apart, so two controllers of one host would take each other's.
std::string cookie_name(std::string_view host);
/// Whether `origin` (`http://HOST:PORT`) is what `host` names.
bool is_same_origin(std::string_view origin, std::string_view host);

} // namespace quell::controller::http
