// Ends or continues a turn whose stream has ended.
#include "gateway/owned_turn.hpp"

#include <utility>

#include <spdlog/spdlog.h>

#include "gateway/thread_context.hpp"

namespace quell::controller::http {

owned_turn::owned_turn(std::shared_ptr<shared_state> state, const operation_id& turn, std::function<void()> stop)
    : state_(std::move(state)), turn_(turn), stop_(std::move(stop)) {}

owned_turn::~owned_turn() { client_gone(); }

void owned_turn::ended() { stop_ = nullptr; }

void owned_turn::client_gone() {
  const auto stop = std::exchange(stop_, nullptr);
  if (stop && !state_->stopping) stop();
}

void owned_turn::goes_on(std::string_view why) {
  if (!std::exchange(stop_, nullptr) || state_->stopping) return;
  spdlog::warn("turn {} goes on without its client: {}; stop it with `quell cancel {}`", turn_.text(), why,
               turn_.text());
}

} // namespace quell::controller::http
