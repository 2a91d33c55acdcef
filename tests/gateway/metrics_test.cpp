// /metrics: the text format, histograms, and the place where each figure is counted.
#include <catch2/catch.hpp>

#include "gateway/metric_counts.hpp"
#include "gateway/metrics_text.hpp"
#include "tests/gateway/world.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::test;

TEST_CASE("a histogram counts what is at or below each bound") {
  histogram h;
  for (const double seconds : {0.0001, 0.00011, 0.3, 61.0}) h.observe(seconds);
  CHECK(h.count() == 4);
  CHECK(h.up_to(0) == 1);
  CHECK(h.up_to(1) == 2);
  CHECK(h.up_to(histogram::bounds.size() - 1) == 3);
  CHECK(h.sum() == Approx(61.30021));
}

TEST_CASE("samples have escaped labels, and histograms their three kinds of lines") {
  http::metrics_text to;
  to.family("x_total", "counter", "Help.");
  to.sample(std::uint64_t{3}, {{"a", "q\"b\\c\nd"}, {"b", ""}});
  histogram h;
  h.observe(0.5);
  to.family("y_seconds", "histogram", "Help.");
  to.sample(h, {{"k", "v"}});
  const auto text = to.take();
  CHECK(text.starts_with("# HELP x_total Help.\n# TYPE x_total counter\nx_total{a=\"q\\\"b\\\\c\\nd\",b=\"\"} 3\n"));
  CHECK(text.find("y_seconds_bucket{k=\"v\",le=\"0.25\"} 0\ny_seconds_bucket{k=\"v\",le=\"0.5\"} 1\n") !=
        std::string::npos);
  CHECK(text.ends_with(
      "y_seconds_bucket{k=\"v\",le=\"+Inf\"} 1\ny_seconds_sum{k=\"v\"} 0.5\ny_seconds_count{k=\"v\"} 1\n"));
}

TEST_CASE("tokens and cost are added up by model") {
  http::metric_counts counts;
  records::event_record event;
  event.type = event_type::model_usage;
  event.data =
      R"({"model":"big","usage":{"input_tokens":10,"output_tokens":5,"cached_input_tokens":2,"cost":0.25},"operation":"x"})";
  counts.on_event(event);
  counts.on_event(event);
  event.data = R"({"model":"small","usage":{"input_tokens":1,"output_tokens":1,"cached_input_tokens":0}})";
  counts.on_event(event);
  const auto models = counts.use_by_model();
  CHECK(models.at("big").input == 20);
  CHECK(models.at("big").cached == 4);
  CHECK(models.at("big").cost == 0.5);
  CHECK(models.at("small").output == 1);
  CHECK(models.at("small").cost == 0);
}

TEST_CASE("tokens that no number can hold stay at the most") {
  http::metric_counts counts;
  records::event_record event;
  event.type = event_type::model_usage;
  event.data = R"({"model":"big","usage":{"input_tokens":9223372036854775808,"output_tokens":1}})";
  for (int i = 0; i < 3; ++i) counts.on_event(event);
  CHECK(counts.use_by_model().at("big").input == most_used);
  CHECK(counts.use_by_model().at("big").output == 3);
}

TEST_CASE("events are counted by type and turns by their end, and settled cancels wait to be timed") {
  http::metric_counts counts;
  records::event_record event;
  event.type = event_type::turn_abort;
  event.data = R"({"reason":"user"})";
  counts.on_event(event);
  event.type = event_type::cancel_settled;
  event.cancel = cancel_id::fresh();
  counts.on_event(event);
  CHECK(counts.events_by_type().at("cancel_settled") == 1);
  CHECK(counts.turns_by_end().at("user") == 1);
  CHECK(counts.take_settled() == std::vector{*event.cancel});
  CHECK(counts.take_settled().empty());
  for (std::size_t i = 0; i < http::metric_counts::most_untimed + 5; ++i) counts.on_event(event);
  CHECK(counts.take_settled().size() == http::metric_counts::most_untimed);
  CHECK(counts.cancels_untimed == 5);
}

TEST_CASE("metrics count answers by code and time them by route") {
  gateway_world world;
  world.get("/nowhere");
  world.get("/v1/operations/" + operation_id::fresh().text());
  const auto text = world.get("/metrics").body;
  CHECK(text.find("quell_http_requests_total{code=\"404\"} 2\n") != std::string::npos);
  CHECK(text.find("quell_http_request_duration_seconds_count{method=\"GET\",route=\"/v1/operations/*\"} 1\n") !=
        std::string::npos);
  CHECK(text.find("# TYPE quell_operations_live gauge\n") != std::string::npos);
}

TEST_CASE("metrics count commands by name") {
  gateway_world world([](gateway_options& options) {
    options.commands = [] { return std::vector<std::pair<std::string_view, std::uint64_t>>{{"order_cancel", 3}}; };
  });
  const auto text = world.get("/metrics").body;
  CHECK(text.find("# TYPE quell_commands_total counter\nquell_commands_total{name=\"order_cancel\"} 3\n") !=
        std::string::npos);
}

TEST_CASE("metrics count the moves that the lifecycle forbids") {
  gateway_world world([](gateway_options& options) { options.forbidden_moves = [] { return std::uint64_t{2}; }; });
  const auto text = world.get("/metrics").body;
  CHECK(text.find("# TYPE quell_forbidden_moves_total counter\nquell_forbidden_moves_total 2\n") != std::string::npos);
}

TEST_CASE("a settled cancel is in the histograms with the times of its report") {
  gateway_world world;
  world.controller->start_operation("team");
  const auto cancel = world.post("/v1/cancels", R"({"scope":"team"})").json()["id"].get<std::string>();
  CHECK(world.get("/metrics").body.find("quell_cancel_settled_seconds_count 0\n") != std::string::npos);
  world.controller->move_cancel(*cancel_id::parse(cancel), cancel_status::settled);
  const auto text = world.get("/metrics").body;
  CHECK(text.find("quell_cancel_settled_seconds_count 1\n") != std::string::npos);
  CHECK(text.find("quell_cancel_settled_seconds_bucket{le=\"0.01\"} 0\n") != std::string::npos);
  CHECK(text.find("quell_cancel_settled_seconds_bucket{le=\"0.025\"} 1\n") != std::string::npos);
}

TEST_CASE("quelld is not ready while its disk is almost full") {
  gateway_world world;
  CHECK(world.get("/readyz").status == 200);
  world.controller->set_storage_low(true);
  const auto answer = world.get("/readyz");
  CHECK(answer.status == 503);
  CHECK(answer.code() == "storage_unavailable");
  CHECK(world.get("/healthz").status == 200);
}
