// Runs a step of a component that must live on if the step fails.
#pragma once

#include <spdlog/spdlog.h>

#include <exception>
#include <string_view>

namespace quell::actors {

/// A step that throws is logged and ends only itself. `whose`: for the log.
template <class Step>
void run_guarded(std::string_view whose, const Step& step) {
  try {
    step();
  } catch (const std::exception& e) {
    spdlog::error("{} failed and was dropped: {}", whose, e.what());
  } catch (...) {
    spdlog::error("{} failed and was dropped", whose);
  }
}

} // namespace quell::actors
