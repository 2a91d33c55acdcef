// The files of a request: read for their own scope only, trimmed before anything else.
#include <catch2/catch.hpp>
#include <map>

#include "actors/turns/context_fit.hpp"
#include "actors/turns/kept_decision.hpp"
#include "actors/turns/request_files.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::turns;

namespace {

/// Blobs in memory.
class memory_blobs final : public blob_store {
 public:
  attachment add(const std::string& scope, const std::string& type, const std::string& bytes) {
    blob_facts f;
    f.id = blob_id::fresh();
    f.scope = *scope_path::parse(scope);
    f.type = type;
    f.bytes = bytes.size();
    all_[f.id] = {f, bytes};
    return {f.id.text(), "x", type, bytes.size()};
  }
  void put(new_blob, std::function<void(result<put_blob>)> done) override {
    done(failure(error_code::internal, "not played"));
  }
  std::uint64_t most_bytes() const override { return 10 << 20; }
  std::optional<blob_facts> find(const blob_id& id) const override {
    const auto at = all_.find(id);
    return at == all_.end() ? std::nullopt : std::optional(at->second.first);
  }
  result<std::string> read(const blob_id& id) override { return all_.at(id).second; }
  void use(const std::vector<blob_id>&) override {}

 private:
  std::map<blob_id, std::pair<blob_facts, std::string>> all_;
};

const attachments& files_at(const conversation& all, std::size_t i) { return std::get<user_message>(all[i]).files; }

} // namespace

TEST_CASE("a file is read for its own scope and those below, and for no other", "[files]") {
  memory_blobs blobs;
  const auto own = blobs.add("team", "image/png", "PNG"), foreign = blobs.add("other", "image/png", "SECRET");
  conversation all{user_message{"look", {own, foreign, {blob_id::fresh().text(), "gone", "image/png", 3}}}};
  CHECK(has_files(all));
  read_files(all, *scope_path::parse("team/chat"), &blobs);
  CHECK_FALSE(has_files(all));
  REQUIRE(files_at(all, 0)[0].content);
  CHECK(*files_at(all, 0)[0].content == "PNG");
  CHECK_FALSE(files_at(all, 0)[1].content);
  CHECK_FALSE(files_at(all, 0)[2].content);
  CHECK(files_at(all, 0)[2].missing == "it is not kept any more");
  conversation again{user_message{"look", {own}}};
  read_files(again, *scope_path::parse("team/chat"), nullptr);
  CHECK_FALSE(files_at(again, 0)[0].content);
}

TEST_CASE("the bytes of one request have a limit, and the newest files come first", "[files]") {
  memory_blobs blobs;
  const std::string half(most_request_files / 2 + 1, 'x');
  conversation all{user_message{"1", {blobs.add("team", "image/png", half)}},
                   user_message{"2", {blobs.add("team", "image/png", half)}}};
  read_files(all, *scope_path::parse("team"), &blobs);
  CHECK_FALSE(files_at(all, 0)[0].content);
  CHECK(files_at(all, 0)[0].missing == "the files of this conversation are too large together");
  CHECK(files_at(all, 1)[0].content);
}

TEST_CASE("a result names its files in its own first member only", "[files]") {
  const attachment shot{blob_id::fresh().text(), "", "image/png", 4};
  const auto named = with_result_files(R"({"ok":true,"result":{"content":[]}})", {shot});
  conversation all{tool_results{{{"c1", "shot", true, false, named},
                                 {"c2", "exec", true, false, R"({"ok":true,"result":)" + named + "}"},
                                 {"c3", "exec", true, false, R"({"attachments":[{"blob":7},"x"]})"}}}};
  note_result_files(all);
  const auto& results = std::get<tool_results>(all[0]).results;
  CHECK(results[0].files == attachments{shot});
  CHECK(results[1].files.empty());
  CHECK(with_result_files("no JSON", {shot}) == "no JSON");
}

TEST_CASE("older files give way first, the message's own last", "[files]") {
  const attachment picture{blob_id::fresh().text(), "x", "image/png", 4};
  const conversation all{user_message{"old", {picture}}, assistant_message{"seen", {}}, user_message{"new", {picture}}};
  CHECK(estimated_tokens(all) > 3'000);
  const auto fit = fit_into(all, 2'000);
  CHECK(fit.fits);
  CHECK(fit.left_out == 0);
  CHECK(fit.trimmed_files == 1);
  CHECK_FALSE(files_at(fit.messages, 0)[0].missing.empty());
  CHECK(files_at(fit.messages, 2)[0].missing.empty());
  const auto none = fit_into(all, 200);
  CHECK(none.trimmed_files == 2);
  CHECK(none.fits);
  auto refused = all;
  CHECK(leave_out_old_files(refused, "refused") == 1);
  CHECK(files_at(refused, 2)[0].missing.empty());
}

TEST_CASE("a file that was to be fetched is counted as it came, or says why it did not", "[files]") {
  memory_blobs blobs;
  arriving_files arriving;
  auto here = blobs.add("team", "application/pdf", std::string(100'000, 'x'));
  here.type = "application/octet-stream";
  here.bytes = 0;
  attachment failed{blob_id::fresh().text(), "b", "image/png", 4},
      unknown{blob_id::fresh().text(), "c", "image/png", 4};
  for (auto* one : {&here, &failed, &unknown}) one->comes_later = true;
  arriving.expect(failed.blob);
  arriving.settle(failed.blob, "it could not be fetched");
  conversation all{user_message{"look", {here, failed, unknown}}};
  const auto before = estimated_tokens(all);
  note_arrivals(all, *scope_path::parse("team"), &blobs, arriving);
  CHECK(files_at(all, 0)[0].type == "application/pdf");
  CHECK(files_at(all, 0)[0].bytes == 100'000);
  CHECK(files_at(all, 0)[1].missing == "it could not be fetched");
  CHECK(files_at(all, 0)[2].missing.empty());
  CHECK(estimated_tokens(all) != before);
  read_files(all, *scope_path::parse("team"), &blobs);
  CHECK(files_at(all, 0)[0].content);
  CHECK(files_at(all, 0)[2].missing == "it was not fetched, or is not kept any more");
}

TEST_CASE("the files of a message are kept with its decision, and with that of its copy", "[files]") {
  kept_decision d;
  d.why = "no_cancel_word";
  d.files = {{blob_id::fresh().text(), "a \"b\".png", "image/png", 4}};
  d.files.push_back({blob_id::fresh().text(), "b", "image/png", 4, nullptr, {}, true});
  CHECK(files_in(kept_text(d)) == d.files);
  CHECK(read_kept(kept_text(d)).files == d.files);
  CHECK_FALSE(read_kept(kept_text(d)).cancel);
  CHECK(files_in(decision_with_files(R"({"ending":{"as":"cancelled"}})", d.files)) == d.files);
  CHECK(decision_with_files("", {}).empty());
  for (const char* wrong : {"", "files", R"({"files":7})", R"({"files":[7]})"}) CHECK(files_in(wrong).empty());
  message_order order;
  CHECK(why_ignored(order, 0) == "empty");
  order.files = d.files;
  CHECK(why_ignored(order, 0).empty());
}
