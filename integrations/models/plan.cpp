// Makes a runnable call from settings and a request.
#include "integrations/models/plan.hpp"

#include "integrations/models/endpoint.hpp"
#include "integrations/models/media.hpp"
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
  switch (settings.provider) {
  case provider::anthropic:
    return anthropic_request(settings, request);
  case provider::responses:
    return responses_request(settings, request);
  case provider::openai:
  case provider::scripted:
    break;
  }
  return openai_request(settings, request);
}

std::unique_ptr<reply_reader> (*reader_for(provider whose))(call_ids ids) {
  if (whose == provider::anthropic) return &anthropic_reader;
  if (whose == provider::responses) return &responses_reader;
  return &openai_reader;
}

model_route web_route(const model_settings& settings, const model_request& request, const std::string& ca_file,
                      transfers& network) {
  model_route route;
  route.settings = settings;
  auto made_request = web_request(settings, request);
  if (!made_request) {
    route.unusable = about(settings, std::move(made_request.error()));
    return route;
  }
  auto plan = std::make_shared<web_plan>();
  plan->request = std::move(*made_request);
  plan->reader = reader_for(settings.provider);
  plan->ids = call_ids(request.messages);
  plan->connect_timeout = settings.connect_timeout;
  plan->ca_file = ca_file;
  route.request_bytes = without_media(plan->request.body.size(), settings, request.messages);
  route.who = "model \"" + settings.name + "\" (" + settings.model + " at " + plan->request.shown_url + ")";
  route.make = [plan = std::shared_ptr<const web_plan>(std::move(plan)), &network](attempt_host& host, std::uint32_t) {
    return std::make_unique<web_attempt>(host, network, plan);
  };
  return route;
}

model_route script_route(const model_settings& settings, const model_request& request, script_shelf& scripts) {
  model_route route;
  route.settings = settings;
  auto script = scripts.find(settings.base_url);
  if (!script) {
    route.unusable = about(settings, std::move(script.error()));
    return route;
  }
  auto scene = std::make_shared<script_scene>(scene_of(request));
  route.request_bytes = scene->bytes;
  route.who = "model \"" + settings.name + "\" (" +
              (settings.base_url.empty() ? "built in" : "script " + settings.base_url) + ")";
  route.make = [script = *script, scene = std::shared_ptr<const script_scene>(std::move(scene))](attempt_host& host,
                                                                                                 std::uint32_t number) {
    return std::make_unique<script_play>(host, script, scene, number);
  };
  return route;
}

} // namespace

std::unique_ptr<running_call> plan_call(const model_settings& settings, const model_request& request,
                                        const std::string& ca_file, transfers& network, script_shelf& scripts) {
  std::vector<model_route> routes;
  const auto route_of = [ca_file, &network, &scripts](const model_settings& one, const model_request& made_request) {
    auto route = one.provider == provider::scripted ? script_route(one, made_request, scripts)
                                                    : web_route(one, made_request, ca_file, network);
    route.settings.fallbacks.clear();
    return route;
  };
  routes.push_back(route_of(settings, request));
  for (const model_settings& other : settings.fallbacks) routes.push_back(route_of(other, request));
  return std::make_unique<running_call>(std::move(routes), model_clock::now(),
                                        model_share{request.scope, request.tenant});
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
