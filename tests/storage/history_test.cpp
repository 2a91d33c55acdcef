// Conversations: written rows are read back, a call has one result, pages are whole, and no conversation sees another's
// rows.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/storage/fixture.hpp"

using namespace quell;
using namespace quell::storage;
using namespace quell::storage::test;

namespace {

message_filter in(const std::string& where) {
  message_filter f;
  f.scope = scope(where);
  return f;
}

/// A store and a reader of it.
struct history {
  temp_directory directory;
  store s{directory.path()};
  std::unique_ptr<controller::store_reader> reader = std::move(open_reader(directory.path()).value());

  std::vector<kept_message> read(const message_filter& f) {
    auto page = reader->messages(f);
    REQUIRE(page);
    CHECK(page->size() <= f.limit);
    return std::move(*page);
  }
  std::vector<std::uint64_t> seqs_of(const message_filter& f) {
    std::vector<std::uint64_t> seqs;
    for (const auto& kept : read(f)) seqs.push_back(kept.message.seq);
    return seqs;
  }
  call_record call_again(const message_record& answer, std::uint32_t position) {
    auto f = in(answer.scope.text());
    f.after_seq = answer.seq - 1;
    f.limit = 1;
    return read(f).at(0).calls.at(position);
  }
};

message_record full_message(std::uint64_t seq, message_role role) {
  auto m = message(seq, "team/a.b/c", role);
  m.turn = operation_id::fresh();
  m.author = {"alice", "Alice \xc3\xa4"};
  m.client_id = "1732096267.123";
  m.decision = R"({"why":"nothing_active"})";
  m.acknowledged = true;
  m.text = std::string("with a NUL \0 and bad UTF-8 \xff", 28);
  m.interrupted = m.discarded = true;
  m.usage = {1, 2, 3};
  return m;
}

} // namespace

TEST_CASE("every field of a message and of a call comes back as it was written, also after a restart") {
  history h;
  auto user = full_message(10, message_role::user), answer = full_message(11, message_role::assistant),
       shown = full_message(12, message_role::tool), bare = message(13, "team/a.b/c", message_role::assistant);
  bare.text = "";
  auto aside = full_message(14, message_role::user);
  aside.aside = true;
  auto first = call(answer, 0), second = call(answer, 1), open = call(answer, 2);
  first.call = "";
  first.name = std::string("no \xff tool", 9);
  first.input = std::string("no JSON \0 at all", 16);
  second.input = std::string(3 << 20, 'i');
  REQUIRE_FALSE(h.s.write({put_message{user}, put_message{answer}, put_call{first}, put_call{second}, put_call{open},
                           put_message{shown}, put_message{bare}, put_message{aside}}));
  first.outcome = call_outcome{false, true, R"({"ok":false})"};
  second.outcome = call_outcome{true, false, std::string(3 << 20, 'r')};
  REQUIRE_FALSE(h.s.write(
      {put_call_result{first.operation, *first.outcome}, put_call_result{second.operation, *second.outcome}}));
  const std::vector<call_record> calls{first, second, open};
  const std::vector<kept_message> expected{{user, {}}, {answer, calls}, {shown, calls}, {bare, {}}};
  auto beside = in("team/a.b/c");
  beside.aside_of = aside.turn;
  CHECK((h.read(in("team/a.b/c")) == expected));
  CHECK((h.read(beside) == std::vector<kept_message>{{aside, {}}}));
  h.s.log->close();
  h.reader.reset();
  const store again(h.directory.path());
  h.reader = std::move(open_reader(h.directory.path()).value());
  CHECK((h.read(in("team/a.b/c")) == expected));
  CHECK((h.read(beside) == std::vector<kept_message>{{aside, {}}}));
  CHECK(again.recovered.next_seq == 15); // no message number is used again
  CHECK(integrity(h.directory.path()) == "ok");
}

TEST_CASE("the first result of a call stays, whatever comes after it") {
  history h;
  const auto answer = message(1, "a", message_role::assistant);
  auto fast = call(answer, 0), slow = call(answer, 1), silent = call(answer, 2);
  silent.outcome = call_outcome{true, false, "\"not yet\""}; // a call is written without its result
  REQUIRE_FALSE(h.s.write({put_message{answer}, put_call{fast}, put_call{slow}, put_call{silent},
                           put_message{message(2, "a", message_role::tool)}}));
  const call_outcome cancelled{false, true, "\"cancelled\""}, done{true, false, "\"done\""}, empty{false, false, ""};
  REQUIRE_FALSE(h.s.write({put_call_result{fast.operation, done}, put_call_result{fast.operation, cancelled}}));
  REQUIRE_FALSE(h.s.write({put_call_result{slow.operation, cancelled}}));
  CHECK_FALSE(h.s.write({put_call_result{slow.operation, done}, put_call_result{fast.operation, empty}}));
  CHECK(h.call_again(answer, 0).outcome == done);
  CHECK(h.call_again(answer, 1).outcome == cancelled);
  CHECK_FALSE(h.call_again(answer, 2).outcome);
  // An empty result is a result, too.
  REQUIRE_FALSE(h.s.write({put_call_result{silent.operation, empty}}));
  REQUIRE_FALSE(h.s.write({put_call_result{silent.operation, done}}));
  CHECK(h.call_again(answer, 2).outcome == empty);
}

TEST_CASE("a result for what is not a call changes nothing and fails nothing") {
  history h;
  const auto task = operation(1, "a");
  REQUIRE_FALSE(h.s.write({put_operation{task}, put_call_result{task.id, {true, false, "1"}}, ended(task, 2),
                           put_call_result{operation_id::fresh(), {true, false, "1"}}}));
  CHECK(ask(h.directory.path(), "SELECT count(*) FROM call") == "0");
  CHECK(ask(h.directory.path(), "SELECT ended_seq FROM operation") == "2");
}

TEST_CASE("a message or a call that is there already fails its batch and stays as it was") {
  history h;
  const auto answer = message(1, "a", message_role::assistant);
  const auto made = call(answer, 0);
  REQUIRE_FALSE(h.s.write({put_message{answer}, put_call{made}}));
  auto same_id = message(2, "a", message_role::user), same_seq = message(1, "a", message_role::user);
  same_id.id = answer.id;
  auto same_operation = call(answer, 1);
  same_operation.operation = made.operation;
  const auto fresh = message(3, "a", message_role::user);
  for (const entry& bad : std::vector<entry>{put_message{same_id}, put_message{same_seq}, put_call{same_operation},
                                             put_call{call(answer, 0)}})
    CHECK(h.s.write({put_message{fresh}, bad})->code == "store_error");
  CHECK((h.read(in("a")) == std::vector<kept_message>{{answer, {made}}}));
}

TEST_CASE("only the user's message of the turn that never began is discarded") {
  history h;
  const auto turn = operation_id::fresh(), other = operation_id::fresh();
  auto question_message = message(1, "a", message_role::user), next = message(2, "a", message_role::user),
       loose = message(3, "a", message_role::user), answer = message(4, "a", message_role::assistant);
  question_message.turn = answer.turn = turn;
  next.turn = other;
  REQUIRE_FALSE(h.s.write({put_message{question_message}, put_message{next}, put_message{loose}, put_message{answer}}));
  REQUIRE_FALSE(h.s.write({discard_message{turn}, discard_message{turn}, discard_message{operation_id::fresh()}}));
  question_message.discarded = true;
  CHECK((h.read(in("a")) == std::vector<kept_message>{{question_message, {}}, {next, {}}, {loose, {}}, {answer, {}}}));
}

TEST_CASE("the ending of a turn joins what was decided about its message, and nothing else changes") {
  history h;
  const auto turn = operation_id::fresh();
  auto decided = message(1, "a", message_role::user), plain = message(2, "a", message_role::user),
       answer = message(3, "a", message_role::assistant);
  decided.turn = answer.turn = turn;
  plain.turn = operation_id::fresh();
  decided.decision = R"({"why":"nothing_active","voice":{"humans_present":1}})";
  plain.decision.clear();
  REQUIRE_FALSE(h.s.write({put_message{decided}, put_message{plain}, put_message{answer}}));
  const std::string ending = R"({"ending":{"as":"cancelled","why":"unheard"}})";
  REQUIRE_FALSE(h.s.write({put_turn_ending{turn, ending}, put_turn_ending{turn, ending},
                           put_turn_ending{*plain.turn, ending}, put_turn_ending{operation_id::fresh(), ending}}));
  decided.decision =
      R"({"why":"nothing_active","voice":{"humans_present":1},"ending":{"as":"cancelled","why":"unheard"}})";
  plain.decision = ending;
  CHECK((h.read(in("a")) == std::vector<kept_message>{{decided, {}}, {plain, {}}, {answer, {}}}));
}

TEST_CASE("an answer and the results behind it carry the same calls, in their order, wherever a page is cut") {
  history h;
  std::vector<kept_message> expected;
  std::vector<entry> batch;
  std::uint64_t seq = 0;
  for (int round = 0; round < 5; ++round) {
    expected.push_back({message(++seq, "a", message_role::user), {}});
    const auto answer = message(++seq, "a", message_role::assistant);
    std::vector<call_record> calls;
    for (std::uint32_t i = 0; i < 3; ++i) calls.push_back(call(answer, i));
    for (const auto i : {2U, 0U, 1U}) batch.push_back(put_call{calls[i]});
    expected.push_back({answer, calls});
    ++seq; // another conversation in between has no effect
    batch.push_back(put_message{message(seq, round % 2 ? "a/b" : "ab", message_role::user)});
    expected.push_back({message(++seq, "a", message_role::tool), calls});
    expected.push_back({message(++seq, "a", message_role::assistant), {}});
  }
  for (const auto& kept : expected) batch.push_back(put_message{kept.message});
  REQUIRE_FALSE(h.s.write(std::move(batch)));
  for (const bool ascending : {true, false})
    for (const std::uint32_t limit : {1U, 2U, 3U, 7U, 100U}) {
      INFO("pages of " << limit << (ascending ? ", oldest" : ", newest") << " first");
      auto f = in("a");
      f.ascending = ascending;
      f.limit = limit;
      std::vector<kept_message> all;
      for (auto page = h.read(f); !page.empty(); page = h.read(f)) {
        f.after_seq = page.back().message.seq;
        all.insert(all.end(), page.begin(), page.end());
      }
      if (!ascending) std::reverse(all.begin(), all.end());
      CHECK((all == expected));
    }
  auto f = in("a");
  f.limit = 0;
  CHECK(h.read(f).empty());
}

TEST_CASE("only newer messages are given above a seq, in both orders and with a cursor") {
  history h;
  std::vector<entry> batch;
  for (std::uint64_t seq = 10; seq <= 100; seq += 10)
    batch.push_back(put_message{message(seq, "a", message_role::user)});
  REQUIRE_FALSE(h.s.write(std::move(batch)));
  using list = std::vector<std::uint64_t>;
  auto f = in("a");
  f.above_seq = 70;
  CHECK(h.seqs_of(f) == list{80, 90, 100});
  f.after_seq = 85;
  CHECK(h.seqs_of(f) == list{90, 100});
  f.after_seq = 20; // the stricter limit applies
  CHECK(h.seqs_of(f) == list{80, 90, 100});
  f.ascending = false;
  f.after_seq = 0;
  CHECK(h.seqs_of(f) == list{100, 90, 80});
  f.after_seq = 100;
  CHECK(h.seqs_of(f) == list{90, 80});
  f.limit = 1;
  CHECK(h.seqs_of(f) == list{90});
  f.after_seq = 80;
  CHECK(h.seqs_of(f).empty());
  f.after_seq = 0;
  f.above_seq = 0;
  f.limit = 2;
  CHECK(h.seqs_of(f) == list{100, 90});
}

TEST_CASE("a sub-agent's conversation is apart from its scope's, from other sub-agents' and from other scopes'") {
  history h;
  const auto turn = operation_id::fresh(), one = operation_id::fresh(), two = operation_id::fresh();
  const auto write = [&](std::uint64_t seq, const std::string& where, message_role role, const operation_id& of,
                         bool aside) {
    auto m = message(seq, where, role);
    m.turn = of;
    m.aside = aside;
    REQUIRE_FALSE(h.s.write({put_message{m}}));
    return m;
  };
  write(1, "a", message_role::user, turn, false);
  const auto answer = write(2, "a", message_role::assistant, turn, false);
  write(3, "a", message_role::user, one, true);
  const auto inner = write(4, "a", message_role::assistant, one, true);
  write(5, "a", message_role::user, two, true);
  write(6, "a", message_role::tool, one, true);
  write(7, "a", message_role::tool, turn, false);
  write(8, "a/b", message_role::user, turn, false);
  const auto outer_call = call(answer, 0), inner_call = call(inner, 0);
  REQUIRE_FALSE(h.s.write({put_call{outer_call}, put_call{inner_call}}));
  using list = std::vector<std::uint64_t>;
  CHECK(h.seqs_of(in("a")) == list{1, 2, 7});
  CHECK(h.seqs_of(in("a/b")) == list{8});
  CHECK(h.read(in("a")).back().calls == std::vector{outer_call});
  auto f = in("a");
  f.aside_of = one;
  CHECK(h.seqs_of(f) == list{3, 4, 6});
  CHECK(h.read(f).back().calls == std::vector{inner_call});
  f.above_seq = 3;
  f.ascending = false;
  f.limit = 1;
  CHECK(h.seqs_of(f) == list{6});
  f = in("a");
  f.aside_of = two;
  CHECK(h.seqs_of(f) == list{5});
  f.aside_of = turn; // that turn writes to the scope's own conversation
  CHECK(h.seqs_of(f).empty());
  f.aside_of = one;
  f.scope = scope("a/b");
  CHECK(h.seqs_of(f).empty());
}

TEST_CASE("a client finds the newest message with its own id in exactly that scope") {
  history h;
  const auto write = [&](std::uint64_t seq, const std::string& where, const std::string& client_id) {
    auto m = message(seq, where, message_role::user);
    m.client_id = client_id;
    m.decision = "of " + std::to_string(seq);
    REQUIRE_FALSE(h.s.write({put_message{m}}));
    return m;
  };
  write(1, "chat/x", "42");
  const auto newest = write(2, "chat/x", "42");
  write(3, "chat/x", "43");
  write(4, "chat/x", "");
  const auto elsewhere = write(5, "chat/x/y", "42");
  CHECK(h.reader->message_of_client(scope("chat/x"), "42").value() == newest);
  CHECK(h.reader->message_of_client(scope("chat/x/y"), "42").value() == elsewhere);
  CHECK_FALSE(h.reader->message_of_client(scope("chat"), "42").value());
  CHECK_FALSE(h.reader->message_of_client(scope("chat/x"), "4").value());
  CHECK_FALSE(h.reader->message_of_client(scope("chat/x"), "").value());
}

TEST_CASE("the newest edit of a client's message is found, however many messages follow") {
  history h;
  const auto write = [&](std::uint64_t seq, const std::string& where, const std::string& client_id) {
    auto m = message(seq, where, message_role::user);
    m.client_id = client_id;
    REQUIRE_FALSE(h.s.write({put_message{m}}));
    return m;
  };
  write(1, "chat/x", "42");
  write(2, "chat/x", "42/b");
  const auto newest = write(3, "chat/x", "42/a");
  write(4, "chat/x", "420/z");
  write(5, "chat/x", "42.z");
  write(6, "chat/y", "42/c");
  for (std::uint64_t seq = 10; seq < 300; ++seq) write(seq, "chat/x", "other " + std::to_string(seq));
  CHECK(h.reader->newest_edit_of_client(scope("chat/x"), "42").value() == newest);
  CHECK_FALSE(h.reader->newest_edit_of_client(scope("chat/x"), "43").value());
  CHECK_FALSE(h.reader->newest_edit_of_client(scope("chat/x"), "").value());
}

TEST_CASE("history outlives the operations that made it") {
  history h;
  auto turn = operation(1, "a");
  turn.kind = kind::turn;
  auto tool = operation(3, "a", &turn);
  tool.kind = kind::tool_call;
  auto answer = message(2, "a", message_role::assistant);
  answer.turn = turn.id;
  auto made = call(answer, 0);
  made.operation = tool.id;
  made.outcome = call_outcome{true, false, "1"};
  const auto shown = message(4, "a", message_role::tool);
  REQUIRE_FALSE(
      h.s.write({put_operation{turn}, put_message{answer}, put_operation{tool}, put_call{made}, put_message{shown},
                 ended(tool, 5), put_call_result{tool.id, *made.outcome}, ended(turn, 6)}));
  REQUIRE_FALSE(h.s.write({drop_operation{tool.id}, drop_operation{turn.id}}));
  CHECK(ask(h.directory.path(), "SELECT count(*) FROM operation") == "0");
  CHECK((h.read(in("a")) == std::vector<kept_message>{{answer, {made}}, {shown, {made}}}));
}

TEST_CASE("what is particular to a kind of operation is kept with it, small or large") {
  history h;
  const std::vector<std::string> blocks{"", R"({"agent":"coder","model":"m"})", std::string(200'000, 'b')};
  std::vector<operation_record> turns;
  for (std::uint64_t seq = 1; seq <= blocks.size(); ++seq) {
    auto turn = operation(seq, "a");
    turn.kind = kind::turn;
    turn.task = {};
    turn.kind_data = blocks[seq - 1];
    REQUIRE_FALSE(h.s.write({put_operation{turn}}));
    CHECK(h.reader->operation(turn.id).value() == turn);
    turns.push_back(std::move(turn));
  }
  h.s.log->close();
  CHECK(store(h.directory.path()).recovered.live == turns);
}
