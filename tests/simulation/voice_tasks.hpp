// The output of tasks: a played recogniser writes the words that its audio contains, a played voice writes samples that
// contain their text; other tasks write nothing.
#pragma once

#include <memory>
#include <string>

#include "controller/output_reader.hpp"

namespace quell::simulation {

struct scheduler_life;

inline const std::string played_ear = "quell-ear", played_mouth = "quell-mouth"; ///< their commands

std::unique_ptr<controller::output_store> played_output(const std::shared_ptr<scheduler_life>& life);

} // namespace quell::simulation
