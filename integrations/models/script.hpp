// A scripted model: answers from a JSON or TOML file, so that demos and tests need no network. The format:
// docs/models.md.
//
// Which answer is played depends on the conversation alone, never on earlier calls: the same conversation gets the same
// answer, also after a restart.
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
/// Text in chunks of so many characters (0: one chunk), each after the delay; `endless`: over and over.
struct say {
  std::string text;
  std::uint32_t chunk = 0;
  std::chrono::milliseconds delay{0};
  bool endless = false;
};
struct call {
  std::string id, name; ///< an empty id: one of our own
  std::string input;    ///< JSON text with templates inside its strings
};
struct pause {
  std::chrono::milliseconds time{0};
};
/// Nothing more ever comes.
struct hang {};
struct fail {
  fault why;
  bool again = false;
  std::optional<std::chrono::milliseconds> asked_wait;
};
} // namespace script_steps

using script_step =
    std::variant<script_steps::say, script_steps::call, script_steps::pause, script_steps::hang, script_steps::fail>;

/// What must hold for an answer to be played; what is absent holds.
struct script_condition {
  std::optional<std::string> user, result, system; ///< part of the text
  std::optional<std::uint32_t> ask, round, attempt;
};

struct script_answer {
  script_condition when;
  std::vector<script_step> steps;
  std::optional<model_usage> usage;       ///< or else a quarter of the bytes
  std::optional<model_events::stop> stop; ///< or else `calls` after calls and `end` otherwise
};

struct script {
  std::vector<script_answer> answers; ///< the first whose condition holds is played
};

/// What a script can see of a request.
struct script_scene {
  std::string text;    ///< of the last user message
  std::string results; ///< of the last message if it is results, one a line
  std::string system;
  bool results_last = false;
  std::uint32_t ask = 1;   ///< the how-maniest answer of the conversation this is
  std::uint32_t round = 1; ///< the how-maniest since the last user message
  std::uint64_t bytes = 0; ///< of the whole request, roughly
  call_ids used;           ///< by the conversation
};
script_scene scene_of(const model_request& request);

/// Null if nothing fits. `attempt` counts the tries of one call.
const script_answer* answer_of(const script& all, const script_scene& scene, std::uint32_t attempt);

/// `{{text}}`, `{{results}}`, `{{ask}}`, `{{round}}` replaced. What is put in is not looked at again.
std::string filled(const std::string& text, const script_scene& scene);

/// `file` is for the fault's words, and says by its ending which of both it is: .toml, or else JSON.
result<script> parse_script(const std::string& text, const std::string& file);

/// Keeps what was parsed until the file changes. Any thread.
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
