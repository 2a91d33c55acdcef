// A sealed id is the agent's own id, '~', and the seal: a keyed hash of what the id is, of the agent and of the scope.
// So nothing is stored, a restart changes nothing, and an id that leaks into another scope is of no use there.
#include "actors/turns/remote_ids.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "actors/turns/json_text.hpp"
#include "integrations/mcp/server_code.hpp"
#include "protocol/base64.hpp"
#include "protocol/encoding.hpp"

namespace quell::controller::turns {
namespace {

using nlohmann::json;

constexpr std::array<const char*, 2> id_kinds{"conversation", "task"};
constexpr std::size_t seal_length = 22; ///< base64url digits: 132 bits
constexpr char seal_border = '~';

} // namespace

remote_ids::remote_ids(std::string_view key) : key_(hmac_sha256(key, "ids of remote agents")) {}

std::string remote_ids::seal_of(const char* kind, const std::string& id, const std::string& agent,
                                const scope_path& scope) const {
  const auto what = json_text(json::array({kind, agent, scope.text(), id}));
  return base64url(hmac_sha256(key_, what)).substr(0, seal_length);
}

std::string remote_ids::sealed(const std::string& result_json, const std::string& agent,
                               const scope_path& scope) const {
  auto whole = json::parse(result_json, nullptr, false);
  if (!whole.is_object()) return result_json;
  for (const char* kind : id_kinds) {
    const auto at = whole.find(kind);
    if (at == whole.end() || !at->is_string()) continue;
    auto& id = at->get_ref<std::string&>();
    id += seal_border + seal_of(kind, id, agent, scope);
  }
  return json_text(whole);
}

result<std::string> remote_ids::opened(const std::string& input_json, const std::string& agent,
                                       const scope_path& scope) const {
  auto whole = json::parse(input_json, nullptr, false);
  if (!whole.is_object()) return failure(server_code::a2a_refused, "the input must be an object");
  for (const char* kind : id_kinds) {
    const auto at = whole.find(kind);
    if (at == whole.end()) continue;
    auto* text = at->get_ptr<std::string*>();
    if (!text || text->empty()) { // names nothing: some models fill every field
      whole.erase(at);
      continue;
    }
    const auto border = text->rfind(seal_border);
    auto id = text->substr(0, border);
    const bool has_seal = border != std::string::npos && !id.empty();
    if (!has_seal || !equal_in_constant_time(text->substr(border + 1), seal_of(kind, id, agent, scope)))
      return failure(server_code::a2a_refused,
                     std::string("/") + kind +
                         " is not one that this remote agent gave in this "
                         "conversation: copy it in full from an earlier result here, or leave it out to "
                         "begin a conversation there");
    *text = std::move(id);
  }
  return json_text(whole); // the text that was checked, not the model's
}

} // namespace quell::controller::turns
