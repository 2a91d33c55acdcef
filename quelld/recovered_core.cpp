// Counts what comes in parts while the ledger takes it in.
#include "quelld/recovered_core.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "protocol/clock_now.hpp"

namespace quell::controller {

result<std::unique_ptr<commit_gate>> recover_core(const commit_gate_settings& settings,
                                                  records::recovered_state recovered, commit_gate_edges& edges,
                                                  const std::string& directory) {
  const auto epoch = recovered.epoch;
  const auto open_cancels = recovered.open_cancels.size();
  auto live = recovered.live.size();
  if (recovered.more_live)
    recovered.more_live = [&live, more = std::move(recovered.more_live)] {
      auto some = more();
      live += some.size();
      return some;
    };
  try {
    auto gate = std::make_unique<commit_gate>(settings, std::move(recovered), edges, clock_now());
    spdlog::info("store {} opened: epoch {}, {} live operations, {} open cancels", directory, epoch, live,
                 open_cancels);
    return gate;
  } catch (const records::unreadable& e) {
    return tl::unexpected(e.why);
  }
}

bool has_live_calls(const commit_gate& core) {
  const auto counts = core.operations().live_by_kind();
  return std::any_of(counts.begin(), counts.end(),
                     [](const auto& one) { return one.first.first == name_of(kind::tool_call) && one.second > 0; });
}

} // namespace quell::controller
