// Makes a runnable call from settings and a request.
#include "integrations/models/plan.hpp"

#include "integrations/models/endpoint.hpp"
#include "integrations/models/script_play.hpp"
#include "integrations/models/web_attempt.hpp"

namespace quell::integrations {
namespace {

fault about(const model_settings& settings, fault why) {
  const std::string who = "model \"" + settings.name + "\"";
  if (!why.detail.starts_with(who)) why.detail = who + ": " + why.detail;
  return why;
}

result<http_request> web_request(const model_settings& settings, const model_request& request) {
  return settings.provider == provider::anthropic ? anthropic_request(settings, request)
                                                  : openai_request(settings, request);
}

std::unique_ptr<running_call> plan_web(const model_settings& settings, const model_request& request,
                                       const std::string& ca_file, transfers& network) {
  const auto now = model_clock::now();
  auto asked = web_request(settings, request);
  if (!asked) return std::make_unique<running_call>(about(settings, std::move(asked.error())), now);
  auto plan = std::make_shared<web_plan>();
  plan->request = std::move(*asked);
  plan->reader = settings.provider == provider::anthropic ? &anthropic_reader : &openai_reader;
  plan->ids = call_ids(request.messages);
  plan->connect_timeout = settings.connect_timeout;
  plan->ca_file = ca_file;
  std::string who = "model \"" + settings.name + "\" (" + settings.model + " at " + plan->request.shown_url + ")";
  return std::make_unique<running_call>(
      settings, std::move(who),
      [plan = std::shared_ptr<const web_plan>(std::move(plan)), &network](attempt_host& host, std::uint32_t) {
        return std::make_unique<web_attempt>(host, network, plan);
      },
      now);
}

std::unique_ptr<running_call> plan_script(const model_settings& settings, const model_request& request,
                                          script_shelf& scripts) {
  const auto now = model_clock::now();
  auto script = scripts.find(settings.base_url);
  if (!script) return std::make_unique<running_call>(about(settings, std::move(script.error())), now);
  auto scene = std::make_shared<script_scene>(scene_of(request));
  std::string who = "model \"" + settings.name + "\" (" +
                    (settings.base_url.empty() ? "built in" : "script " + settings.base_url) + ")";
  return std::make_unique<running_call>(
      settings, std::move(who),
      [script = *script, scene = std::shared_ptr<const script_scene>(std::move(scene))](attempt_host& host,
                                                                                        std::uint32_t number) {
        return std::make_unique<script_play>(host, script, scene, number);
      },
      now);
}

} // namespace

std::unique_ptr<running_call> plan_call(const model_settings& settings, const model_request& request,
                                        const std::string& ca_file, transfers& network, script_shelf& scripts) {
  return settings.provider == provider::scripted ? plan_script(settings, request, scripts)
                                                 : plan_web(settings, request, ca_file, network);
}

std::optional<fault> wrong_settings(const model_settings& settings) {
  const auto wrong = [&](auto&& made) -> std::optional<fault> {
    if (made) return std::nullopt;
    return about(settings, std::move(made.error()));
  };
  if (settings.provider == provider::scripted) return wrong(script_shelf().find(settings.base_url));
  return wrong(web_request(settings, {}));
}

} // namespace quell::integrations
