// Waiting times of tests. Everything takes longer under sanitizers and on a loaded machine: QUELL_TEST_PATIENCE (1; see
// the Makefile) multiplies all waits and bounds, as in tests/system/harness/waiting.py.
#pragma once

#include <chrono>
#include <cstdlib>

namespace quell::testing {

inline std::chrono::milliseconds patient(std::chrono::milliseconds usual) {
  const char* text = std::getenv("QUELL_TEST_PATIENCE");
  const double factor = text ? std::atof(text) : 0;
  return factor > 1 ? std::chrono::milliseconds(static_cast<long long>(factor * static_cast<double>(usual.count())))
                    : usual;
}

} // namespace quell::testing
