// People in a chat who may decide about calls that wait for a human.
#include "actors/turns/approvers.hpp"

#include <catch2/catch.hpp>

#include "actors/turns/turn_json.hpp"

using namespace quell;
using namespace quell::controller::turns;

namespace {

records::operation_record call_in(const std::string& scope, const std::string& owner) {
  records::operation_record row;
  row.scope = *scope_path::parse(scope);
  row.owner = {owner, owner};
  return row;
}

std::string code_of(const std::optional<fault>& why) { return why ? why->code : ""; }

} // namespace

TEST_CASE("an approver is named, is who the service says, and stands where the call waits", "[approvers]") {
  chat_options chat_rules;
  const auto call = call_in("slack/T/C/1", "U1");
  chat_approver who{*scope_path::parse("slack/T/C"), "U2", "U2"};
  CHECK(code_of(why_not_decide(chat_rules, who, call)) == "forbidden"); // no approver is named
  chat_rules.approvers = {"discord:U2", "slack:U3"};
  CHECK(code_of(why_not_decide(chat_rules, who, call)) == "forbidden");
  chat_rules.approvers.push_back("slack:U2");
  CHECK_FALSE(why_not_decide(chat_rules, who, call));
  who.account.clear(); // without an account the author is only a claim
  CHECK(code_of(why_not_decide(chat_rules, who, call)) == "forbidden");
  who.account = "U2";
  for (const char* elsewhere : {"slack/T/C2", "slack/T/C/2", "slack/T/C/1/x", "discord/T/C"}) {
    who.place = *scope_path::parse(elsewhere);
    CHECK(code_of(why_not_decide(chat_rules, who, call)) == "operation_not_found");
  }
}

TEST_CASE("a star is everybody whom the service knows, and one's own request is not one's to decide", "[approvers]") {
  chat_options chat_rules;
  chat_rules.approvers = {"slack:*"};
  const auto call = call_in("slack/T/C", "U1");
  const auto place = *scope_path::parse("slack/T/C");
  CHECK_FALSE(why_not_decide(chat_rules, {place, "U2", "U2"}, call));
  CHECK(code_of(why_not_decide(chat_rules, {place, "U2", ""}, call)) == "forbidden");
  CHECK(code_of(why_not_decide(chat_rules, {place, "U1", "U1"}, call)) == "forbidden");
  CHECK(code_of(why_not_decide(chat_rules, {place, "nick", "U1"}, call)) == "forbidden");
  chat_rules.approve_own = true;
  CHECK_FALSE(why_not_decide(chat_rules, {place, "U1", "U1"}, call));
}

TEST_CASE("another nick makes one's own request no one else's: the account is the same", "[approvers]") {
  chat_options chat_rules;
  chat_rules.approvers = {"irc:mia_acc", "irc:tom"};
  const auto call = call_in("irc/libera/~23dev", "mia");
  const auto place = *scope_path::parse("irc/libera/~23dev");
  CHECK(code_of(why_not_decide(chat_rules, {place, "mia|away", "mia_acc"}, call, "mia_acc")) == "forbidden");
  CHECK_FALSE(why_not_decide(chat_rules, {place, "tom", "tom"}, call, "mia_acc"));
  CHECK_FALSE(why_not_decide(chat_rules, {place, "tom", "tom"}, call)); // the network did not say who asked
  chat_rules.approve_own = true;
  CHECK_FALSE(why_not_decide(chat_rules, {place, "mia|away", "mia_acc"}, call, "mia_acc"));
}

TEST_CASE("a turn's block keeps its author's account for approvals, and shows it to nobody", "[approvers]") {
  const auto block = with_account(turn_block(message_id::fresh(), "main", "small", true), "mia_acc");
  CHECK(account_in(block) == "mia_acc");
  CHECK(is_by_chat(block));
  CHECK(shown_turn_block(block, "", {}).find("mia_acc") == std::string::npos);
  CHECK(turn_started(operation_id::fresh(), block).data.find("mia_acc") == std::string::npos);
  CHECK(with_account("{}", "") == "{}");
  for (const char* other : {"", "{}", "[1]", R"({"account":7})"}) CHECK(account_in(other).empty());
}

TEST_CASE("a role of Discord may decide wherever its people may, and nothing else passes for one", "[approvers]") {
  chat_options chat_rules;
  chat_rules.approvers = {"discord:role:77"};
  const auto call = call_in("discord/9/7", "1");
  const auto place = *scope_path::parse("discord/9/7");
  CHECK_FALSE(why_not_decide(chat_rules, {place, "5", "5", {"76", "77"}}, call));
  CHECK(code_of(why_not_decide(chat_rules, {place, "5", "5", {"76"}}, call)) == "forbidden");
  CHECK(code_of(why_not_decide(chat_rules, {place, "5", "5"}, call)) == "forbidden");
  CHECK(code_of(why_not_decide(chat_rules, {place, "5", "", {"77"}}, call)) == "forbidden");
  CHECK(code_of(why_not_decide(chat_rules, {place, "5", "role:77"}, call)) == "forbidden");   // an account of that name
  CHECK(code_of(why_not_decide(chat_rules, {place, "1", "1", {"77"}}, call)) == "forbidden"); // their own request
  const auto elsewhere = *scope_path::parse("discord/9/8");
  CHECK(code_of(why_not_decide(chat_rules, {elsewhere, "5", "5", {"77"}}, call)) == "operation_not_found");
  const auto in_slack = call_in("slack/T/C", "1");
  CHECK(code_of(why_not_decide(chat_rules, {*scope_path::parse("slack/T/C"), "5", "5", {"77"}}, in_slack)) ==
        "forbidden");
  CHECK(wrong_approver("discord:role:77").empty());
  for (const char* bad : {"discord:role:", "discord:role:*", "discord:role:mods", "slack:role:77", "token:role:7"})
    CHECK_FALSE(wrong_approver(bad).empty());
}

TEST_CASE("a user group of Slack is refused in words, not taken for a person", "[approvers]") {
  for (const char* group : {"slack:S0614TZR7", "slack:<!subteam^S0614TZR7>", "slack:@oncall", "slack:group:oncall",
                            "slack:usergroup:S0614TZR7", "slack:subteam:S1", "slack:role:oncall"}) {
    INFO(group);
    CHECK(wrong_approver(group).find("user groups") != std::string::npos);
  }
  for (const char* person : {"slack:U024BE7LH", "slack:W012A3CDE", "slack:*"}) CHECK(wrong_approver(person).empty());
}

TEST_CASE("entries of approvers, and tokens among them", "[approvers]") {
  for (const char* good : {"slack:U1", "discord:*", "irc:mia", "xmpp:mia@example.org", "telegram:5", "token:abc"})
    CHECK(wrong_approver(good).empty());
  for (const char* bad : {"", "U1", "slack:", ":U1", "mail:x", "token:*"}) CHECK_FALSE(wrong_approver(bad).empty());
  chat_options chat_rules;
  chat_rules.approvers = {"token:abc", "slack:*"};
  CHECK(is_approving_token(chat_rules, "abc"));
  CHECK_FALSE(is_approving_token(chat_rules, "abcd"));
  CHECK_FALSE(is_approving_token(chat_rules, ""));
}

TEST_CASE("a place has approvers of its own, for itself and below", "[approvers]") {
  chat_options everywhere;
  everywhere.approvers = {"discord:boss"};
  place_settings guild, channel;
  guild.scope = *scope_path::parse("discord/g1");
  guild.approvers = std::vector<std::string>{"discord:mod"};
  channel.scope = *scope_path::parse("discord/g1/c1");
  channel.approve_own = true;
  everywhere.places = {channel, guild};
  const auto why = [&](const std::string& place, const std::string& person, const std::string& owner) {
    return code_of(why_not_decide(everywhere, {*scope_path::parse(place), person, person}, call_in(place, owner)));
  };
  CHECK(why("discord/g2/c1", "boss", "x").empty());
  CHECK(why("discord/g1/c2", "boss", "x") == "forbidden"); // the place's own list replaces the cluster's
  CHECK(why("discord/g1/c2", "mod", "x").empty());
  CHECK(why("discord/g1/c2", "mod", "mod") == "forbidden");
  CHECK(why("discord/g1/c1/thread", "mod", "mod").empty());
  CHECK(why("discord/g2/c1", "mod", "x") == "forbidden");
}

TEST_CASE("words of a place come on top of those above it", "[approvers]") {
  chat_options everywhere;
  everywhere.words.words = {"halt"};
  place_settings guild, channel;
  guild.scope = *scope_path::parse("discord/g1");
  guild.words.words = {"basta"};
  guild.bot_names = {"robby"};
  channel.scope = *scope_path::parse("discord/g1/c1");
  channel.words.followers = {"subito"};
  everywhere.places = {guild, channel};
  const words_by_place words(everywhere);
  const auto stops = [&](const std::string& place, const std::string& text) {
    return words.of(*scope_path::parse(place)).find(text, {}).has_value();
  };
  CHECK(stops("discord/g1/c1/t", "basta subito, robby"));
  CHECK(stops("discord/g1/c2", "robby: basta"));
  CHECK_FALSE(stops("discord/g1/c2", "basta subito"));
  CHECK_FALSE(stops("discord/g10", "basta"));
  CHECK_FALSE(stops("discord", "basta"));
  for (const char* place : {"discord", "discord/g1", "discord/g1/c1/t"}) {
    CHECK(stops(place, "halt"));
    CHECK(stops(place, "stop"));
  }
}

TEST_CASE("a decision that comes too late is refused in words, without an id", "[approvers]") {
  const std::string id = operation_id::fresh().text();
  const auto ended = in_words_of_chat({error_code::operation_not_found, "there is no live operation " + id});
  CHECK(ended == coded_fault{error_code::operation_not_found, "this call has ended; nothing is waiting any more"});
  const auto stopping = in_words_of_chat({error_code::not_paused, "operation " + id + " does not wait (any more)"});
  CHECK(stopping == coded_fault{error_code::not_paused, "nothing waits for this answer any more"});
  const coded_fault other{error_code::not_ready, "try again"};
  CHECK(in_words_of_chat(other) == other);
}
