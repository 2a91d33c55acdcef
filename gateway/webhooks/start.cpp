// Reads the store through the gateway, which renders events.
#include "gateway/webhooks/start.hpp"

namespace quell::controller::webhooks {

result<std::unique_ptr<outgoing>> start_over(gateway& from, const std::vector<integrations::chat::outgoing_webhook>& to,
                                             const std::string& state_directory,
                                             const controller::open_limited_store& open_store) {
  if (to.empty()) return nullptr;
  auto store = open_store();
  if (!store) return tl::unexpected(store.error());
  const auto newest = (*store)->newest_event();
  if (!newest) return tl::unexpected(newest.error());
  outgoing::edges e;
  e.state_directory = state_directory;
  e.newest = *newest;
  e.read = [&from](records::event_filter filter, outgoing::read_done done) {
    from.read_events(std::move(filter), [done = std::move(done)](result<kept_events> kept) {
      if (!kept) return done(tl::unexpected(kept.error()));
      page p{{}, kept->looked_to, kept->is_whole, kept->lost};
      for (auto& one : kept->events) p.items.push_back({one.id, one.at, std::move(one.json)});
      done(std::move(p));
    });
  };
  return outgoing::start(to, std::move(e));
}

} // namespace quell::controller::webhooks
