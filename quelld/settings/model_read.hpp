// Keys of a model, and those that an agent can set in its place.
#pragma once

#include "actors/turns/settings.hpp"
#include "quelld/settings/toml_table.hpp"

namespace quell::controller::turns {

/// How models answer: the same keys in [[models]] and [[agents]].
integrations::answer_settings read_answer_settings(toml_table& t);

/// Everything of a model but its name and its keys' sources. `place`: its name in faults.
void read_model_settings(toml_table& t, const std::string& place, integrations::model_settings& m, key_source& key,
                         file_trouble& trouble);

} // namespace quell::controller::turns
