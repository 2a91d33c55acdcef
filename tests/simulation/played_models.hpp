// Models that answer from the seed: texts, calls of every kind, errors, slowly, or never. The oracle sees each request
// first.
#pragma once

#include <memory>

#include "integrations/models/model.hpp"
#include "tests/simulation/scheduler_life.hpp"

namespace quell::simulation {

std::unique_ptr<integrations::model_client> played_models(const std::shared_ptr<scheduler_life>& life);

} // namespace quell::simulation
