// Commands in logs and in metrics.
#include <catch2/catch.hpp>

#include "tests/controller/commands/commands_world.hpp"

using namespace quell;
using namespace quell::controller;
using quell::controller::core_tests::commands_world;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

} // namespace

TEST_CASE("a description hides environment, command line, secrets and texts") {
  auto what = commands_world::task("team/a");
  what.order.name = "build";
  what.order.title = "hush-title";
  what.order.kind_data = "hush-data";
  what.order.task.command = {"login", "--password=hush-word"};
  what.order.task.env = {{"HUSH", "hush-env"}};
  what.order.task.secrets = {{"HUSHED", "hush-secret"}};
  const auto text = describe(command(what));
  CHECK(has(text, "create_operation id=" + what.fresh.text() + " kind=task scope=team/a name=build"));
  CHECK(has(text, "words=2"));
  CHECK(has(text, "environment=1"));
  CHECK(has(text, "by=token-of-ada"));
  CHECK_FALSE(has(text, "hush"));
  CHECK_FALSE(has(text, "HUSH"));

  records::token_record token;
  token.name = "ci";
  token.hash = "hush";
  CHECK_FALSE(has(describe(command(commands::put_token{token})), "hush"));
  CHECK(has(describe(command(commands::put_token{token})), "name=ci"));

  const caller by = commands_world::admin();
  const auto id = operation_id::fresh();
  for (const command& one :
       {command(commands::declare_dead{id, "hush", by}), command(commands::declare_worker_dead{"w1", "hush", by}),
        command(commands::drain_worker{"w1", "hush", {}, worker_tasks::are_cancelled, by.owner}),
        command(commands::note_late_report{{id, owner_word::complete, "hush", {}}}),
        command(commands::end_externals{{{id, owner_word::fail, "hush", records::operation_error{"error", "hush"}}},
                                        by})}) {
    INFO(describe(one));
    CHECK_FALSE(has(describe(one), "hush"));
    CHECK(has(describe(one), "[4 bytes]"));
  }
}

TEST_CASE("a description of a turn's step hides what people, models and tools wrote") {
  const auto id = operation_id::fresh();
  records::event_record event;
  event.data = "hush";
  records::message_record message;
  message.text = "hush";
  own_outcome failed{status::failed, records::operation_error{"error", "hush"}};
  own_outcome ended;
  ended.call = records::call_outcome{true, false, "hush"};
  commands::store_answer answer{message, {{id, {}}}, {}};
  answer.calls.front().order.kind_data = "hush";
  for (const command& one :
       {command(commands::publish_event{event}), command(commands::keep_message{message}), command(answer),
        command(commands::end_local{id, failed}), command(commands::end_local{id, ended}),
        command(commands::decide_call{
            id, {approval_outcome::approved, "hush", {}, "hush", "hush", "hush"}, {true, false, "hush"}, true}),
        command(commands::ask_question{id, {id, "hush"}, event}),
        command(commands::answer_question{id, {id, true, false, "hush", "hush", {}, "hush"}}),
        command(commands::note_call_outcome{id, "hush", commands::noted_call::ended})}) {
    INFO(describe(one));
    CHECK_FALSE(has(describe(one), "hush"));
    CHECK(has(describe(one), "[4 bytes]"));
  }
  CHECK_FALSE(has(describe(command(commands::await_approval{id, event})), "hush"));

  commands::store_summary summary;
  summary.summary = message;
  summary.event = event;
  CHECK_FALSE(has(describe(command(summary)), "hush"));
  CHECK(has(describe(command(summary)), "[4 bytes]"));
  const auto rewrite = describe(command(commands::rewrite_history{{id}, {{message, {}}}}));
  CHECK_FALSE(has(rewrite, "hush"));
  CHECK(has(rewrite, "discarded=1 added=1 retracted=0"));
  CHECK(has(describe(command(commands::begin_history_change{id, {*scope_path::parse("team/a")}})),
            "change=" + id.text() + " scopes=1 scope=team/a"));
  CHECK(describe(command(commands::limit_slots{{{"a/b", 2}}})) == "limit_slots guilds=1");
  CHECK(has(describe(command(commands::stop_local{{id}, stop_cause::timeout})),
            "stop_local operations=1 operation=" + id.text() + " cause="));
}

TEST_CASE("a description is one line of bounded length, whatever people wrote") {
  const auto text = describe(command(commands::resume_worker{"a\nb \"c\xc3\xa9" + std::string(5000, 'x')}));
  CHECK(text.find('\n') == std::string::npos);
  CHECK(has(text, "worker=\"a?b ?c??xxx"));
  CHECK(text.size() < 200);
  CHECK(std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c < '\x7f'; }));
}

TEST_CASE("commands are counted by name, refused ones included") {
  commands_world w;
  w.edges.low = true;
  w.give(w.task());
  w.done(w.cancel_of(operation_id::fresh()));
  w.done(commands::resume_worker{"w9"});
  std::map<std::string_view, std::uint64_t> counts;
  for (const auto& [name, count] : w.edges.counts.now()) counts[name] = count;
  CHECK(counts.size() == command_counts::size);
  CHECK(counts.at("create_operation") == 1);
  CHECK(counts.at("order_cancel") == 1);
  CHECK(counts.at("resume_worker") == 1);
  CHECK(counts.at("drop_token") == 0);
}
