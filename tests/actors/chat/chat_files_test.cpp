// The files of a chat message: what is fetched, in which order, what is said of the others, and what a stop ends.
#include <catch2/catch.hpp>

#include <map>

#include "actors/chat/chat_files.hpp"
#include "actors/turns/agent_runtime.hpp"
#include "tests/actors/chat/played_byte_quota.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::chat;
using integrations::chat::offered_file;
using turns::arriving_files;

namespace {

const std::string picture = std::string("\x89PNG\r\n\x1a\n") + "the rest of a picture";

/// Fetches that the test answers.
struct played_source final : integrations::chat::file_source {
  void fetch(std::uint64_t number, const offered_file& file, const integrations::chat::file_limits& limits,
             std::function<void(result<std::string>)> done) override {
    requested.push_back(file.place);
    most_bytes = limits.bytes;
    answers[number] = std::move(done);
  }
  void stop(std::uint64_t number) override {
    stopped.push_back(number);
    answers.erase(number);
  }
  void tell(const std::string& sentence) override { notes.push_back(sentence); }
  void answer(std::uint64_t number, result<std::string> bytes) {
    const auto done = std::move(answers.at(number));
    answers.erase(number);
    done(std::move(bytes));
  }

  std::vector<std::string> requested, notes;
  std::vector<std::uint64_t> stopped;
  std::map<std::uint64_t, std::function<void(result<std::string>)>> answers;
  std::size_t most_bytes = 0;
};

/// Blobs that are stored at once.
struct played_blobs final : blob_store {
  void put(new_blob what, std::function<void(result<put_blob>)> done) override {
    if (is_full) return done(failure("rate_limited", "the files of scope x take all the room"));
    REQUIRE(what.id);
    put_blob made;
    made.facts.id = *what.id;
    made.facts.type = what.type;
    stored[what.id->text()] = what;
    done(made);
  }
  std::uint64_t most_bytes() const override { return 1000; }
  std::optional<blob_facts> find(const blob_id&) const override { return std::nullopt; }
  result<std::string> read(const blob_id&) override { return failure("blob_not_found", "not played"); }
  void use(const std::vector<blob_id>&) override {}

  std::map<std::string, new_blob> stored;
  bool is_full = false;
};

/// Keeps jobs with an instant until the test wants their time to be over.
struct played_clock final : turns::blocking_executor {
  void run_after(std::chrono::milliseconds, job what) override { jobs.push_back(std::move(what)); }
  void stop() override {}
  std::vector<job> jobs;
};

struct file_world {
  std::shared_ptr<turns::agent_runtime> runtime = std::make_shared<turns::agent_runtime>();
  std::shared_ptr<fetch_places> places = std::make_shared<fetch_places>(1);
  std::shared_ptr<played_source> source = std::make_shared<played_source>();
  played_blobs blobs;
  played_clock* clock = nullptr;
  turns::message_order order;

  file_world() {
    auto later = std::make_unique<played_clock>();
    clock = later.get();
    runtime->background_reads = std::move(later);
    runtime->blobs = &blobs;
    order.scope = *scope_path::parse("slack/T1/C1");
    order.text = "look";
  }
  std::shared_ptr<chat_files> reserve(chat_files::offered files, byte_quota* quota = nullptr) {
    byte_source from{"service:slack", "chat service slack", "mia", order.scope};
    return chat_files::reserve(runtime, places, order, std::move(files), source, {quota, std::move(from)});
  }
  bool is_expected(std::size_t i) {
    conversation all{user_message{"", {order.files.at(i)}}};
    return !runtime->arriving.among(all).empty();
  }
  std::string why(std::size_t i) { return runtime->arriving.why_missing(order.files.at(i).blob).value_or(""); }
};

offered_file png(const std::string& name) { return {name, "image/png", picture.size(), "at " + name}; }

} // namespace

TEST_CASE("files are named at once and fetched one after the other when the turn has begun", "[chatfiles]") {
  file_world w;
  const auto files = w.reserve({png("a.png"), {"b", "", {}, "at b"}});
  REQUIRE(files);
  REQUIRE(w.order.files.size() == 2);
  CHECK(w.order.files[0].name == "a.png");
  CHECK(w.order.files[0].comes_later);
  CHECK(w.is_expected(0));
  CHECK(w.source->requested.empty());
  files->decided(true);
  CHECK(w.source->requested == std::vector<std::string>{"at a.png"});
  CHECK(w.source->most_bytes == 1000);
  w.source->answer(0, picture);
  CHECK_FALSE(w.is_expected(0));
  CHECK(w.blobs.stored.at(w.order.files[0].blob).scope.text() == "slack/T1/C1");
  w.source->answer(1, std::string("plain words"));
  CHECK(w.blobs.stored.at(w.order.files[1].blob).type == "text/plain"); // by its bytes: nobody said what it is
  CHECK(w.source->notes.empty());
}

TEST_CASE("a message that begins no turn has no files to fetch", "[chatfiles]") {
  file_world w;
  w.reserve({png("a.png")})->decided(false);
  CHECK(w.source->requested.empty());
  CHECK_FALSE(w.is_expected(0));
  CHECK(w.why(0).empty());
}

TEST_CASE("what is not fetched is said to the model and to the person", "[chatfiles]") {
  file_world w;
  chat_files::offered all{{"film.mp4", "video/mp4", 5, "f"}, {"big.png", "image/png", 1001, "b"}};
  for (int i = 0; i < 11; ++i) all.push_back(png(std::to_string(i)));
  const auto files = w.reserve(all);
  CHECK(w.order.files.size() == 10);
  CHECK(w.order.text == "look\n[film.mp4 is not shown: files of type video/mp4 are not read]\n"
                        "[big.png is not shown: it has 1001 bytes, and at most 1000 are read]\n"
                        "[10 is not shown: at most 10 files of a message are read]");
  files->decided(true);
  w.source->answer(0, failure("not_fetched", "it could not be fetched: no"));
  w.source->answer(1, std::string("<html>"));
  for (std::uint64_t i = 2; i < 9; ++i) w.source->answer(i, picture);
  w.blobs.is_full = true;
  w.source->answer(9, picture);
  CHECK(w.why(0) == "it could not be fetched: no");
  CHECK(w.why(1) == "its content is not image/png");
  CHECK(w.why(9) == "the files of scope x take all the room");
  REQUIRE(w.source->notes.size() == 1);
  for (const char* part : {"I could not look at film.mp4: ", "big.png: it has", "0: it could not be fetched: no",
                           "1: its content is not", "9: the files of scope x"})
    CHECK(w.source->notes[0].find(part) != std::string::npos);
}

TEST_CASE("a stop ends the fetch and what would follow, and tells nobody", "[chatfiles]") {
  file_world w;
  const auto files = w.reserve({png("a"), png("b")});
  const auto turn = operation_id::fresh();
  w.runtime->arriving.belong(w.order.files, turn);
  files->decided(true);
  w.runtime->arriving.stop_of(turn);
  CHECK(w.source->stopped == std::vector<std::uint64_t>{0});
  CHECK(w.source->requested.size() == 1);
  CHECK(w.why(0) == arriving_files::stopped);
  CHECK(w.why(1) == arriving_files::stopped);
  CHECK(w.source->notes.empty());
  file_world early; // the stop comes before the connector hears of the decision
  const auto late = early.reserve({png("a")});
  early.runtime->arriving.belong(early.order.files, turn);
  early.runtime->arriving.stop_of(turn);
  late->decided(true);
  CHECK(early.source->requested.empty());
}

TEST_CASE("a service that never answers is given up, and the next message's files are fetched", "[chatfiles]") {
  file_world w;
  const auto first = w.reserve({png("a"), png("b")});
  first->decided(true);
  file_world other;
  other.places = w.places;
  const auto second = other.reserve({png("c")});
  second->decided(true);
  CHECK(other.source->requested.empty()); // there is one place
  REQUIRE(w.clock->jobs.size() == 1);
  w.source->answer(0, picture);
  CHECK(w.source->requested.size() == 2);
  w.runtime->arriving.give_up({w.order.files[0].blob, w.order.files[1].blob}, "it could not be fetched in time");
  CHECK(w.source->stopped == std::vector<std::uint64_t>{1});
  REQUIRE(w.source->notes.size() == 1);
  CHECK(w.source->notes[0] == "I could not look at b: it could not be fetched in time");
  CHECK(other.source->requested == std::vector<std::string>{"at c"});
  other.source->answer(0, picture);
  CHECK(other.source->notes.empty());
}

TEST_CASE("a place with a slow service does not hold up the files of another one", "[chatfiles]") {
  file_world slow;
  slow.places = std::make_shared<fetch_places>(4);
  std::vector<std::shared_ptr<chat_files>> held;
  for (int i = 0; i < 10; ++i) {
    slow.order = {};
    slow.order.scope = *scope_path::parse("slack/T1/C" + std::to_string(i));
    held.push_back(slow.reserve({png(std::to_string(i))}));
    held.back()->decided(true);
  }
  CHECK(slow.source->requested.size() == 2);
  file_world other;
  other.places = slow.places;
  other.order.scope = *scope_path::parse("telegram/5");
  other.reserve({png("quick")})->decided(true);
  CHECK(other.source->requested == std::vector<std::string>{"at quick"});
  other.source->answer(0, picture);
  CHECK_FALSE(other.is_expected(0));
  slow.source->answer(0, picture);
  CHECK(slow.source->requested.size() == 3);
}

TEST_CASE("where nothing keeps files their messages are as they were", "[chatfiles]") {
  file_world w;
  w.runtime->blobs = nullptr;
  CHECK_FALSE(w.reserve({png("a")}));
  CHECK_FALSE(w.reserve({}));
  CHECK(w.order.files.empty());
  CHECK(w.order.text == "look");
}

TEST_CASE("files count for the day's bytes, and one that has no room is not even fetched", "[chatfiles]") {
  file_world w;
  chat::testing::played_byte_quota quota;
  const auto files = w.reserve({png("a.png"), png("b.png"), {"c", "", {}, "at c"}}, &quota);
  REQUIRE(files);
  files->decided(true);
  w.source->answer(0, picture);
  REQUIRE(quota.taken.size() == 1);
  CHECK(quota.taken[0].first.token == "service:slack");
  CHECK(quota.taken[0].first.author == "mia");
  CHECK(quota.taken[0].second == picture.size());
  // The second is being fetched already: its bytes are refused when they are there.
  quota.room = 3;
  w.source->answer(1, picture);
  CHECK(w.why(1) == "the day is full");
  quota.room = 0;
  CHECK(w.source->requested == std::vector<std::string>{"at a.png", "at b.png", "at c"}); // nobody said how large it is
  w.source->answer(2, std::string("plain words"));
  CHECK(w.why(2) == "the day is full");
  CHECK(w.blobs.stored.size() == 1);
  REQUIRE(w.source->notes.size() == 1);
  CHECK(w.source->notes[0].find("b.png: the day is full") != std::string::npos);

  const auto more = w.reserve({png("d.png")}, &quota);
  more->decided(true);
  CHECK(w.source->requested.size() == 3);
  CHECK(w.why(3) == "the day is full");
}
