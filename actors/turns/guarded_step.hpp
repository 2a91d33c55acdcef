// Runs a step of a component that must live on if the step fails.
#pragma once

#include <spdlog/spdlog.h>

#include <exception>
#include <string_view>
#include <utility>

namespace quell::controller::turns {

/// A step that throws is logged and ends only itself; then `instead` answers whoever waits for it. `whose`: for the
/// log.
template <class Step, class Instead>
void run_guarded(std::string_view whose, Step&& step, Instead&& instead) {
  try {
    return step();
  } catch (const std::exception& e) {
    spdlog::error("{} failed and was dropped: {}", whose, e.what());
  } catch (...) {
    spdlog::error("{} failed and was dropped", whose);
  }
  instead();
}
template <class Step>
void run_guarded(std::string_view whose, Step&& step) {
  run_guarded(whose, std::forward<Step>(step), [] {});
}

} // namespace quell::controller::turns
