// A scripted model: answers from a JSON or TOML file, so that demos and tests need no network. The format:
// docs/models.md.
//
// The choice of the answer depends on the conversation alone, never on earlier calls: the same conversation gets the
// same answer, also after a restart.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "integrations/models/history.hpp"
#include "protocol/fault.hpp"
#include "protocol/model_stream.hpp"

namespace quell::integrations {

namespace script_steps {
/// Text in chunks of the given number of characters (0: one chunk), each after the delay; `endless`: repeated for ever.
struct say {
  std::string text;
  std::uint32_t chunk = 0;
  std::chrono::milliseconds delay{0};
  bool endless = false;
};
struct call {
  std::string id, name; ///< empty id: a generated one
  std::string input;    ///< JSON text with templates inside its strings
};
struct pause {
  std::chrono::milliseconds time{0};
};
/// Sends nothing more and never ends.
struct hang {};
struct fail {
  fault why;
  bool again = false;
  std::optional<std::chrono::milliseconds> requested_wait;
};
} // namespace script_steps

using script_step =
    std::variant<script_steps::say, script_steps::call, script_steps::pause, script_steps::hang, script_steps::fail>;

/// The conditions of an answer; an absent condition holds.
struct script_condition {
  std::optional<std::string> user, result, system; ///< a substring of the text
  std::optional<std::uint32_t> ask, round, attempt;
};

struct script_answer {
  script_condition when;
  std::vector<script_step> steps;
  std::optional<model_usage> usage;       ///< default: a quarter of the bytes
  std::optional<model_events::stop> stop; ///< default: `calls` after calls, otherwise `end`
};

struct script {
  std::vector<script_answer> answers; ///< the first whose condition holds is played
};

/// The parts of a request that a script can test.
struct script_scene {
  std::string text;    ///< of the last user message
  std::string results; ///< of the last message if it is results, one per line
  std::string system;
  bool results_last = false;
  std::uint32_t ask = 1;   ///< number of this answer in the conversation, from 1
  std::uint32_t round = 1; ///< number of this answer since the last user message, from 1
  std::uint64_t bytes = 0; ///< approximate size of the whole request
  call_ids used;           ///< ids that the conversation uses
};
script_scene scene_of(const model_request& request);

/// Null if no answer fits. `attempt` counts the attempts of one call.
const script_answer* answer_of(const script& all, const script_scene& scene, std::uint32_t attempt);

/// Replaces `{{text}}`, `{{results}}`, `{{ask}}`, `{{round}}`. The inserted text is not expanded again.
std::string filled(const std::string& text, const script_scene& scene);

/// `file` appears in the fault's text, and its ending selects the format: .toml, otherwise JSON.
result<script> parse_script(const std::string& text, const std::string& file);

/// Caches parsed scripts until their files change. Any thread.
class script_shelf {
 public:
  /// "": the built-in script, which says how to configure a model.
  result<std::shared_ptr<const script>> find(const std::string& file);

 private:
  struct kept {
    std::int64_t changed_ns = 0;
    std::int64_t bytes = 0;
    std::shared_ptr<const script> read;
  };
  std::mutex guard_;
  std::unordered_map<std::string, kept> kept_;
};

} // namespace quell::integrations
