// Waits on loopback for a browser that returns from a login, or for its address on standard input.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <string_view>

#include "cli/problem.hpp"

namespace quell::cli {

/// The decoded fields of the browser's redirect.
using redirect_fields = std::map<std::string, std::string>;

/// The fields behind the `?` of an address or of a request's target. At most 32, the first of each name.
redirect_fields fields_of_redirect(std::string_view target);

class redirect_catcher {
 public:
  /// Listens on a free port of 127.0.0.1.
  static answer<redirect_catcher> open();
  redirect_catcher(redirect_catcher&& other) noexcept;
  redirect_catcher& operator=(redirect_catcher&&) = delete;
  ~redirect_catcher();

  const std::string& uri() const { return uri_; }
  /// Waits until a browser comes with this state; a request with another state is refused. `may_be_pasted`: a person
  /// may paste the address at which the browser ended.
  answer<redirect_fields> wait(const std::string& state, std::chrono::seconds limit, bool may_be_pasted);

 private:
  redirect_catcher() = default;
  int listener_ = -1;
  std::string uri_;
};

} // namespace quell::cli
