// A login in progress. For the .cpp files of this folder.
#pragma once

#include "integrations/oauth/account.hpp"

namespace quell::integrations::oauth {

struct account::attempt {
  begun done;
  wall_time at{};
  challenge demanded;
  std::vector<std::string> urls; ///< requested one after the other
  resource_metadata resource;
  authorization_metadata issuer;
  client as;
  authorization_request what;
};

} // namespace quell::integrations::oauth
