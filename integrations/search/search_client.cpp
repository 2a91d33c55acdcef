// A cancelled search frees its place on the network's thread, after its connection is closed.
#include "integrations/search/search_client.hpp"

#include <set>

namespace quell::integrations {

struct search_client::running_count {
  std::mutex guard;
  std::size_t starting = 0;
  std::set<std::uint64_t> numbers; ///< of searches that run
};

search_client::~search_client() { stop(); }

std::uint64_t search_client::search(const search_settings& settings, const std::string& query, std::size_t count,
                                    reply done) {
  const std::lock_guard lock(guard_);
  if (is_stopped_) {
    done(failure("search_failed", "quelld is ending"));
    return 0;
  }
  if (!network_) {
    auto made = chat::web_loop::start([](boot_time) { return std::nullopt; });
    if (!made) {
      done(failure("search_failed", made.error().detail));
      return 0;
    }
    network_ = std::move(*made);
    running_ = std::make_shared<running_count>();
  }
  {
    const std::lock_guard counted(running_->guard);
    if (running_->numbers.size() + running_->starting >= most_at_once) {
      done(failure(error_code::rate_limited, "too many searches run at once; try again when some have ended"));
      return 0;
    }
    ++running_->starting;
  }
  const auto number = std::make_shared<std::uint64_t>(0);
  auto answered = [settings, count, number, running = running_, done = std::move(done)](const chat::web_response& r) {
    std::uint64_t mine = 0;
    {
      const std::lock_guard counted(running->guard);
      mine = *number;
      if (mine != 0)
        running->numbers.erase(mine);
      else
        *number = ~std::uint64_t{0}; // over before it was known
    }
    done(read_search(settings, r, count));
  };
  const auto given = network_->fetch(search_request(settings, query, count), std::move(answered));
  const std::lock_guard counted(running_->guard);
  --running_->starting;
  if (*number == 0) {
    *number = given;
    running_->numbers.insert(given);
  }
  return given;
}

void search_client::cancel(std::uint64_t number) {
  const std::lock_guard lock(guard_);
  if (!network_ || number == 0) return;
  network_->run([network = network_.get(), running = running_, number] {
    network->cancel(number);
    const std::lock_guard counted(running->guard);
    running->numbers.erase(number);
  });
}

void search_client::stop() {
  std::unique_ptr<chat::web_loop> network;
  {
    const std::lock_guard lock(guard_);
    is_stopped_ = true;
    network.swap(network_);
  }
  if (network) network->stop();
}

} // namespace quell::integrations
