// Builds the bodies of cancels.
#include "cli/cancel_request.hpp"

#include <nlohmann/json.hpp>

namespace quell::cli {

std::vector<nlohmann::json> cancel_requests(const cancel_options& o, const std::vector<std::string>& ids,
                                            const std::function<std::string()>& fresh_id) {
  nlohmann::json common{{"wait", "fenced"}, {"dry_run", o.dry_run}};
  if (o.reason) common["reason"] = *o.reason;
  if (o.kill)
    common["grace_ms"] = 0;
  else if (o.grace)
    common["grace_ms"] = o.grace->count();
  if (o.up_to_seq) common["up_to_seq"] = *o.up_to_seq;
  std::vector<nlohmann::json> out;
  const auto add = [&](const nlohmann::json& target) {
    nlohmann::json body = common;
    body.update(target);
    if (!o.dry_run) body["id"] = fresh_id();
    out.push_back(std::move(body));
  };
  for (const auto& id : ids) add({{"operation", id}});
  if (o.everything) add({{"everything", true}});
  if (o.owner) {
    nlohmann::json target{{"owner", *o.owner}};
    if (o.scope) target["scope"] = *o.scope;
    add(target);
  } else if (o.scope) {
    add({{"scope", *o.scope}});
  }
  return out;
}

} // namespace quell::cli
