// The parent channel of each thread, from gateway events: a message in a thread does not name it. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace quell::integrations::chat::discord {

class threads {
 public:
  /// GUILD_CREATE, THREAD_CREATE, THREAD_UPDATE, THREAD_LIST_SYNC, THREAD_DELETE; everything else is ignored.
  void hear(std::string_view type, const nlohmann::json& data);
  /// Ids of the threads below the channel.
  std::vector<std::string> below(const std::string& channel) const;

 private:
  static constexpr std::size_t most = 50'000;
  void learn(const nlohmann::json& thread);

  std::map<std::string, std::string> parents_; ///< by thread; those with the smallest ids are forgotten first
};

} // namespace quell::integrations::chat::discord
