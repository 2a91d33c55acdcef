// Tokens that are being made: whoever asks for one again meanwhile, with the same request, gets the same answer.
#pragma once

#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gateway/exchange.hpp"
#include "protocol/id.hpp"

namespace quell::controller::http {

/// Belongs to the requests' thread. Its parts are secret: the answer names the token's secret.
class token_makings : public std::enable_shared_from_this<token_makings> {
 public:
  /// Runs `make`, unless the token with this id is being made: then it waits for that one, and answers the same if
  /// `fingerprint`, which names the caller and the whole body, is the same, too. Throws what `make` throws.
  awaitable<response> make_once(io_context& io, token_id id, std::string fingerprint, awaitable<response> make);

 private:
  struct making {
    std::string fingerprint;
    std::optional<response> answer{};
    std::exception_ptr why{};
    std::vector<std::shared_ptr<signal>> waiting{};
  };
  std::map<token_id, std::shared_ptr<making>> all_;
};

} // namespace quell::controller::http
