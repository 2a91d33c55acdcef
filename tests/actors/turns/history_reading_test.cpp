// Which stored messages a turn reads: its own and those of earlier turns, however many wait behind it.
#include "actors/turns/history_reading.hpp"

#include <catch2/catch.hpp>

#include "actors/turns/history.hpp"
#include "protocol/note.hpp"
#include "tests/actors/refusing_store.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::turns;

namespace {

/// A store with one conversation; it counts the messages that were read.
struct conversation_store final : testing::refusing_store {
  std::vector<records::kept_message> all; ///< in order of seq
  std::size_t read = 0;

  void add(records::message_role role, std::optional<operation_id> turn, const std::string& text) {
    records::kept_message m;
    m.message.seq = all.size() + 1;
    m.message.role = role;
    m.message.turn = turn;
    m.message.text = text;
    all.push_back(std::move(m));
  }
  operation_id add_question(const std::string& text) {
    const auto turn = operation_id::fresh();
    add(records::message_role::user, turn, text);
    return turn;
  }
  void answered(const operation_id& turn, const std::string& text) {
    add(records::message_role::assistant, turn, text);
  }

  result<std::vector<records::kept_message>> messages(const records::message_filter& f) override {
    std::vector<records::kept_message> page;
    const auto take = [&](const records::kept_message& m) {
      const bool is_behind =
          m.message.seq > f.above_seq.value_or(0) &&
          (f.after_seq == 0 || (f.ascending ? m.message.seq > f.after_seq : m.message.seq < f.after_seq));
      if (is_behind && page.size() < f.limit) page.push_back(m);
    };
    if (f.ascending)
      std::for_each(all.begin(), all.end(), take);
    else
      std::for_each(all.rbegin(), all.rend(), take);
    read += page.size();
    return page;
  }
  result<std::optional<records::message_record>> message_of_client(const scope_path&, const std::string& id) override {
    for (auto m = all.rbegin(); m != all.rend(); ++m)
      if (m->message.client_id == id) return std::optional(m->message);
    return std::optional<records::message_record>{};
  }
  result<std::optional<records::message_record>> newest_edit_of_client(const scope_path&,
                                                                       const std::string& id) override {
    for (auto m = all.rbegin(); m != all.rend(); ++m)
      if (m->message.client_id.starts_with(id + "/")) return std::optional(m->message);
    return std::optional<records::message_record>{};
  }
  void summarised(const conversation_summary& s) {
    records::kept_message m;
    m.message = row_of(s, scope_path());
    m.message.seq = all.size() + 1;
    all.push_back(std::move(m));
  }
  result<cost_page> costs(const cost_filter&) override { return cost_page{}; }
};

std::string text_of(const conversation_entry& entry) {
  if (const auto* u = std::get_if<user_message>(&entry)) return u->text;
  return std::get<assistant_message>(entry).text;
}

} // namespace

TEST_CASE("450 messages that wait behind a turn hide nothing from it", "[history]") {
  conversation_store store;
  const auto first = store.add_question("first");
  const auto own = store.add_question("own");
  for (int i = 0; i < 450; ++i) store.add_question("later " + std::to_string(i));
  store.answered(first, "the first answer");
  const auto history = read_history(store, scope_path(), own);
  REQUIRE(history);
  CHECK(history->gap_behind == 0);
  const auto for_model = history_for(history->kept, own, {}, history->gap_behind);
  REQUIRE(for_model.messages.size() == 3);
  CHECK(text_of(for_model.messages[0]) == "first");
  CHECK(text_of(for_model.messages[1]) == "the first answer");
  CHECK(text_of(for_model.messages[2]) == "own");
}

TEST_CASE("what steered an earlier turn while this one waited belongs to what this one reads", "[history]") {
  conversation_store store;
  const auto first = store.add_question("first");
  const auto own = store.add_question("own");
  store.add_question("later");
  store.add(records::message_role::user, first, "in French");
  store.all.back().message.decision = R"({"steered_from":"x"})";
  store.answered(first, "Bonjour.");
  const auto history = read_history(store, scope_path(), own);
  REQUIRE(history);
  const auto for_model = history_for(history->kept, own, {}, history->gap_behind);
  REQUIRE(for_model.messages.size() == 4);
  CHECK(text_of(for_model.messages[1]) == "in French");
  CHECK(text_of(for_model.messages[2]) == "Bonjour.");
  CHECK(text_of(for_model.messages[3]) == "own");
}

TEST_CASE("of a conversation of 10,000 messages a turn reads the newest and the beginning, with a note between",
          "[history]") {
  conversation_store store;
  for (int i = 0; i < 5'000; ++i)
    store.answered(store.add_question("question " + std::to_string(i)), "answer " + std::to_string(i));
  const auto own = store.add_question("own");
  const auto history = read_history(store, scope_path(), own);
  REQUIRE(history);
  CHECK(store.read < 3'000);
  const auto for_model = history_for(history->kept, own, {}, history->gap_behind);
  CHECK(text_of(for_model.messages.front()) == "question 0");
  CHECK(text_of(for_model.messages.back()) == "own");
  CHECK(for_model.messages.size() > 1'900);
  std::size_t notes = 0;
  for (const auto& entry : for_model.messages) notes += is_note(text_of(entry)) ? 1 : 0;
  CHECK(notes == 1);
  CHECK(is_note(text_of(for_model.messages[12])));
}

TEST_CASE("large messages end the reading earlier, and the turn's own is always read", "[history]") {
  conversation_store store;
  for (int i = 0; i < 100; ++i) store.answered(store.add_question(std::string(10'000, 'q')), std::string(50'000, 'a'));
  const auto own = store.add_question(std::string(60'000, 'o'));
  reading_limits limits;
  limits.bytes = 300'000;
  const auto history = read_history(store, scope_path(), own, limits);
  REQUIRE(history);
  CHECK(history->kept.size() < 30);
  CHECK(history->kept.back().message.text.front() == 'o');
  CHECK(history->gap_behind == 12);
}

TEST_CASE("a reading that ends at its bound says that messages are left out", "[history]") {
  conversation_store store;
  for (int i = 0; i < 100; ++i) store.answered(store.add_question("question"), "answer");
  const auto own = store.add_question("own");
  reading_limits limits;
  limits.most_read = 50;
  limits.page = 20;
  const auto history = read_history(store, scope_path(), own, limits);
  REQUIRE(history);
  CHECK(store.read < 100);
  CHECK(history->gap_behind == 12);
  const auto for_model = history_for(history->kept, own, {}, history->gap_behind);
  CHECK(text_of(for_model.messages.back()) == "own");
  CHECK(is_note(text_of(for_model.messages[12])));
}

TEST_CASE("the beginning holds only exchanges that were read to their end", "[history]") {
  conversation_store store;
  std::vector<operation_id> queued;
  for (int i = 0; i < 20; ++i) queued.push_back(store.add_question("early " + std::to_string(i)));
  for (const auto& turn : queued) store.answered(turn, "late answer");
  for (int i = 0; i < 3'000; ++i) store.answered(store.add_question("q"), "a");
  const auto own = store.add_question("own");
  const auto history = read_history(store, scope_path(), own);
  REQUIRE(history);
  CHECK(history->gap_behind == 0); // the first twelve were requests whose answers came later
  CHECK(history->kept.front().message.text != "early 0");
}

TEST_CASE("what a summary stands for is not read again, and a clear hides what came before it", "[history]") {
  conversation_store store;
  for (int i = 0; i < 5'000; ++i)
    store.answered(store.add_question("question " + std::to_string(i)), "answer " + std::to_string(i));
  conversation_summary s;
  s.text = "they asked much";
  s.up_to = 9'990;
  store.summarised(s);
  auto own = store.add_question("own");
  auto history = read_history(store, scope_path(), own);
  REQUIRE(history);
  CHECK(store.read < 100);
  auto for_model = history_for(history->kept, own, {}, history->gap_behind);
  CHECK(for_model.messages.size() == 12); // the summary, five exchanges, its own
  CHECK(text_of(for_model.messages.front()).find("they asked much") != std::string::npos);
  // Also without a turn of its own.
  history = read_history(store, scope_path(), std::nullopt);
  REQUIRE(history);
  CHECK(history->kept.size() == 12);
  store.answered(own, "ok");
  conversation_summary mark;
  mark.up_to = store.all.size();
  store.summarised(mark);
  for (int i = 0; i < 3'000; ++i) store.answered(store.add_question("q"), "a");
  own = store.add_question("own");
  history = read_history(store, scope_path(), own);
  REQUIRE(history);
  CHECK(history->gap_behind > 0);
  for_model = history_for(history->kept, own, {}, history->gap_behind);
  CHECK(is_note(text_of(for_model.messages.front())));
  for (const auto& entry : for_model.messages) CHECK(text_of(entry).find("question") == std::string::npos);
}

TEST_CASE("the newest edit of a message stands for it, another message with a longer id does not", "[history]") {
  conversation_store store;
  CHECK_FALSE(with_newest_edit(store, scope_path(), "7").value());
  const auto add_with_id = [&](const std::string& id, const std::string& text) {
    store.add_question(text);
    store.all.back().message.client_id = id;
  };
  add_with_id("7", "first");
  add_with_id("70/1", "another");
  CHECK(with_newest_edit(store, scope_path(), "7").value()->text == "first");
  for (int i = 0; i < 30; ++i) add_with_id("other " + std::to_string(i), "between");
  add_with_id("7/1", "second");
  add_with_id("7/2", "third");
  add_with_id("8", "later");
  CHECK(with_newest_edit(store, scope_path(), "7").value()->text == "third");
  for (int i = 0; i < 10'000; ++i) add_with_id("later " + std::to_string(i), "later");
  store.read = 0;
  CHECK(with_newest_edit(store, scope_path(), "7").value()->text == "third");
  CHECK(store.read == 0); // no page of the conversation
}

TEST_CASE("a turn whose message is not on disk yet reads what one reads whose message is there", "[history]") {
  conversation_store store;
  reading_limits limits;
  SECTION("the whole conversation") {}
  SECTION("its newest part and its beginning") { limits.messages = 4, limits.from_start = 2, limits.page = 3; }
  SECTION("what a summary does not stand for") {
    store.answered(store.add_question("summarised"), "gone");
    conversation_summary summary;
    summary.up_to = 2;
    summary.text = "something was asked";
    store.summarised(summary);
  }
  for (int i = 0; i < 5; ++i) store.answered(store.add_question("q" + std::to_string(i)), "a" + std::to_string(i));
  const auto own = store.add_question("own");
  const auto whole = read_history(store, scope_path(), own, limits);
  const auto beside = read_history_behind(store, store.all.back().message, limits); // its commit came meanwhile
  const auto message = store.all.back().message;
  store.all.pop_back();
  const auto before = read_history_behind(store, message, limits);
  REQUIRE((whole && beside && before));
  CHECK(before->kept == whole->kept);
  CHECK(beside->kept == whole->kept);
  CHECK(before->gap_behind == whole->gap_behind);
}
