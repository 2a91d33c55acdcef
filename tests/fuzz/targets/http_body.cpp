// JSON bodies of every request: the result is a checked order or a problem that names the fields, and never exceeds the
// limits.
#include "gateway/admin_body.hpp"
#include "gateway/cancel_body.hpp"
#include "gateway/message_body.hpp"
#include "gateway/operation_body.hpp"
#include "protocol/utf8.hpp"
#include "tests/fuzz/read_body.hpp"

namespace quell::fuzz {
namespace {

using namespace quell::controller::http;

void create(std::string_view body) {
  const auto order = read_create(body);
  if (!taken(order)) return;
  expect(!order->task.command.empty() && !order->task.command.front().empty(), "a task has a program");
  expect(order->labels.size() <= 64 && order->task.on.size() <= 64, "labels are few");
  expect(order->name.size() <= 4 * 128 && order->title.size() <= 4 * 200, "names are short");
  expect((!order->timeout || order->timeout->count() >= 0) && (!order->grace || order->grace->count() >= 0),
         "durations are not negative");
  for (const auto& word : order->task.command) expect(word.find('\0') == std::string::npos, "an argument has no NUL");
  const auto again = read_create(body);
  expect(again && again->fingerprint == order->fingerprint, "the same body has the same fingerprint");
}

void cancel(std::string_view body) {
  const auto request = read_cancel(body);
  if (!taken(request)) return;
  expect(request->order.reason.size() <= 4 * 500, "a reason is short");
  expect(request->until.longest.count() >= 0 && request->until.longest.count() <= 60'000, "a wait is bounded");
}

void message(std::string_view body) {
  const auto request = read_message(body);
  if (!taken(request)) return;
  const auto& order = request->order;
  expect(order.text.size() <= 64 * 1024 && is_utf8(order.text), "a text is bounded and UTF-8");
  expect(!order.author.id.empty() && order.client_id.size() <= 4 * 128, "an author has an id, and ids are short");
  expect(request->merge_text.count() >= 0 && request->merge_text.count() <= 10'000, "text is not held back for long");
}

void run(std::string_view bytes) {
  if (bytes.empty()) return;
  const auto body = bytes.substr(1);
  switch (static_cast<unsigned char>(bytes.front()) % 11) {
  case 0:
    return create(body);
  case 1:
    return cancel(body);
  case 2:
    return (void)taken(read_cancel_of(id_number<operation_id>(1), body));
  case 3:
    return (void)taken(read_resolve(body));
  case 4: {
    const auto enrol = read_enrol(body);
    if (taken(enrol)) expect(!enrol->name.empty() && enrol->name.size() <= 64, "a worker's name is short");
    return;
  }
  case 5:
    return (void)taken(read_drain(body));
  case 6:
    return (void)taken(read_token(body));
  case 7: {
    const auto size = read_resize(body);
    if (taken(size)) expect(size->rows >= 1 && size->columns >= 1, "a window has a size");
    return;
  }
  case 9:
    return message(body);
  case 10: {
    const auto decision_read = read_decision(body, approval_outcome::approved);
    if (taken(decision_read)) expect(decision_read->word.reason.size() <= 4 * 500, "a reason is short");
    return;
  }
  default:
    return (void)taken(read_nothing(body));
  }
}

std::vector<std::string> seeds() {
  const std::string create =
      R"({"id":"01a1f869-3df9-7303-8207-dde70bee07dd","kind":"task","scope":"team/build","parent":null,"name":"pytest","title":"tests","labels":{"pr":"4711"},"timeout_ms":0,"grace_ms":2000,"on_parent_end":"cancel","supersede":"k","as_of_seq":7,"owner":{"id":"alice","name":"Alice"},"task":{"command":["pytest","-q"],"cwd":"/srv","env":{"CI":"1"},"pty":false,"stdin":true,"stop_signal":"INT","worker":"w1","on":{"os":"linux"},"slots":1,"on_leader_exit":"kill","lease_ms":60000,"containment":"cgroup","default_cwd":"/x","default_cwd_host":"h"}})";
  const std::string cancel =
      R"({"id":null,"scope":"team/build","reason":"wrong branch","by":{"id":"alice"},"grace_ms":0,"up_to_seq":9,"dry_run":false,"wait":"settled","wait_ms":30000})";
  std::vector<std::string> all = {
      std::string(1, '\0') + create,
      std::string(1, '\0') + R"({"kind":"task","task":{"command":["true"]}})",
      "\1" + cancel,
      "\1"
      R"({"operation":"01a1f869-3df9-7303-8207-dde70bee07dd"})",
      "\1"
      R"({"owner":"alice","scope":"a"})",
      "\1"
      R"({"everything":true})",
      "\2"
      R"({"grace_ms":0,"reason":"x"})",
      "\3"
      R"({"declare":"dead","reason":"host is scrap"})",
      "\4"
      R"({"name":"w3","key":null,"labels":{"gpu":"1"}})",
      "\5"
      R"({"reason":"upgrade","deadline_ms":1000,"cancel":true})",
      "\6"
      R"({"name":"ci","role":"operator","scope":"team","owner":{"id":"ci"},"expires_at":"2026-12-01T00:00:00Z"})",
      "\7"
      R"({"rows":24,"columns":80})",
      "\x8{}",
      "\x9"
      R"({"id":"m-1","scope":"chat/a","text":"hello","author":{"id":"u","name":"U"},"modality":"text","final":true,"confidence":0.5,"addressed":null,"humans_present":2,"bot_names":["clanky"],"agent":null,"on_disconnect":"continue","coalesce_ms":1000})",
      "\xa"
      R"({"reason":"go on","by":{"id":"u"}})",
      std::string(1, '\0') + std::string(100, '['),
      std::string(1, '\0') + "{\"kind\":1e400,\"task\":-1,\"scope\":\"\\ud800\"}",
      std::string(1, '\0') + "{\"\\u0000\":1}"};
  return all;
}

const known_target known("http_body", run, seeds);

} // namespace
} // namespace quell::fuzz
