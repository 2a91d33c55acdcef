// Chooses the answer of a script, and caches scripts.
#include "integrations/models/script.hpp"

#include <fstream>
#include <sstream>

#include <sys/stat.h>

#include "integrations/models/limits.hpp"
#include "protocol/failure_code.hpp"
#include "protocol/speaker.hpp"

namespace quell::integrations {
namespace {

constexpr std::size_t kept_scripts = 64;

const char* const built_in = R"({"answers": [{"steps": [{"chunk": 12, "text":
"You said: {{text}}\n\nThis is quell's built-in answer, because no model is configured. To get a real one, add to quelld's configuration:\n\n[[models]]\nname = \"main\"\nprovider = \"anthropic\"   # or \"openai\", for anything that speaks Chat Completions\nmodel = \"the provider's name of the model\"\nkey_env = \"THE_VARIABLE_WITH_THE_KEY\"\n\nor a script of answers (provider = \"scripted\"): see docs/models.md."}]}]})";

struct file_state {
  std::int64_t changed_ns = 0, bytes = 0;
};
std::optional<file_state> state_of(const std::string& file) {
  struct stat found {};
  if (::stat(file.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) return std::nullopt;
  return file_state{found.st_mtim.tv_sec * 1'000'000'000LL + found.st_mtim.tv_nsec, found.st_size};
}

} // namespace

script_scene scene_of(const model_request& request) {
  script_scene scene;
  scene.system = request.instructions;
  scene.bytes = request.instructions.size();
  scene.used = call_ids(request.messages);
  for (const conversation_entry& entry : request.messages) {
    scene.results_last = false;
    if (const auto* user = std::get_if<user_message>(&entry)) {
      scene.text = without_speaker(user->text);
      scene.bytes += user->text.size();
      scene.round = 1;
    } else if (const auto* assistant = std::get_if<assistant_message>(&entry)) {
      ++scene.ask;
      ++scene.round;
      scene.bytes += assistant->text.size();
      for (const tool_call& call : assistant->calls) scene.bytes += call.name.size() + call.input.size();
    } else {
      scene.results_last = true;
      scene.results.clear();
      for (const tool_result& result : std::get<tool_results>(entry).results) {
        if (!scene.results.empty()) scene.results += '\n';
        scene.results += result.result;
        scene.bytes += result.result.size();
      }
    }
  }
  if (!scene.results_last) scene.results.clear();
  return scene;
}

const script_answer* answer_of(const script& all, const script_scene& scene, std::uint32_t attempt) {
  const auto part = [](const std::optional<std::string>& wanted, const std::string& text) {
    return !wanted || text.find(*wanted) != std::string::npos;
  };
  const auto same = [](const std::optional<std::uint32_t>& wanted, std::uint32_t is) {
    return !wanted || *wanted == is;
  };
  for (const script_answer& one : all.answers) {
    const script_condition& when = one.when;
    if (when.result && !scene.results_last) continue;
    // A condition on the user's text means the answer to that text, not to the results that follow.
    if (when.user && scene.results_last && !when.result && !when.round && !when.ask) continue;
    if (part(when.user, scene.text) && part(when.result, scene.results) && part(when.system, scene.system) &&
        same(when.ask, scene.ask) && same(when.round, scene.round) && same(when.attempt, attempt))
      return &one;
  }
  return nullptr;
}

std::string filled(const std::string& text, const script_scene& scene) {
  const std::pair<std::string_view, std::string> values[] = {{"{{text}}", scene.text},
                                                             {"{{results}}", scene.results},
                                                             {"{{ask}}", std::to_string(scene.ask)},
                                                             {"{{round}}", std::to_string(scene.round)}};
  std::string whole = text;
  for (auto at = whole.find("{{"); at != std::string::npos; at = whole.find("{{", at)) {
    std::size_t put = 2;
    for (const auto& [name, value] : values)
      if (std::string_view(whole).substr(at).starts_with(name)) {
        whole.replace(at, name.size(), value);
        put = value.size();
        break;
      }
    at += put;
  }
  return whole;
}

result<std::shared_ptr<const script>> script_shelf::find(const std::string& file) {
  const auto state = file.empty() ? file_state{} : state_of(file);
  if (!state)
    return failure(failure_code::model_refused,
                   "there is no script file " + file + "; set base_url to the script's path");
  if (state->bytes > static_cast<std::int64_t>(limits::script_bytes))
    return failure(failure_code::model_refused,
                   "the script " + file + " is larger than " + std::to_string(limits::script_bytes >> 20) + " MiB");
  {
    const std::lock_guard lock(guard_);
    const auto found = kept_.find(file);
    if (found != kept_.end() && found->second.changed_ns == state->changed_ns && found->second.bytes == state->bytes)
      return found->second.read;
  }
  std::string text = built_in;
  if (!file.empty()) {
    std::ostringstream whole;
    whole << std::ifstream(file, std::ios::binary).rdbuf();
    text = std::move(whole).str();
  }
  auto parsed = parse_script(text, file);
  if (!parsed) return tl::unexpected(std::move(parsed.error()));
  auto read = std::make_shared<const script>(std::move(*parsed));
  const std::lock_guard lock(guard_);
  if (kept_.size() >= kept_scripts) kept_.clear();
  kept_.insert_or_assign(file, kept{state->changed_ns, state->bytes, read});
  return read;
}

} // namespace quell::integrations
