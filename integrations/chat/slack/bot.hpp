// A Slack app's conversation with Slack and with quelld. Runs on the loop of its web_connector.
#pragma once

#include <deque>
#include <map>
#include <optional>

#include "integrations/chat/handled_marks.hpp"
#include "integrations/chat/missed_messages.hpp"
#include "integrations/chat/recent_set.hpp"
#include "integrations/chat/refused_deliveries.hpp"
#include "integrations/chat/slack/early_edits.hpp"
#include "integrations/chat/slack/held_messages.hpp"
#include "integrations/chat/slack/history.hpp"
#include "integrations/chat/slack/read.hpp"
#include "integrations/chat/slack/settings.hpp"
#include "integrations/chat/web_connector.hpp"

namespace quell::integrations::chat::slack {

class bot final : public web_connector {
 public:
  bot(slack_settings settings, host& at);

 protected:
  void begin() override;
  void take(web_call call, std::function<void(web_answer)> done) override;
  void hear(const event& e) override;
  web_request request_of(const action& a) override;
  done_how outcome_of(const action& a, const web_response& r) override;
  void say_again(incoming_message message, std::string answers) override;
  std::string more_to_keep() const override;
  std::uint64_t more_changes() const override {
    return marks_.changes() + thread_marks_.changes() + held_.changes() + stop_changes_;
  }
  void recall_more(const std::string& kept) override;

 private:
  using answer = std::function<void(web_answer)>;
  /// The interpretation of a message.
  struct classified {
    scope_path where; ///< the scope that a cancel word stops; the scope where other messages are answered
    bool is_meant = false, is_cancel = false;
    std::vector<std::string> names;
  };
  std::optional<classified> classify(const message& m) const;
  void introduce();
  void introduced(const web_response& r);
  void take_event(const web_call& call, const answer& done);
  enum class delivery : std::uint8_t { comes_again, last }; ///< if it is not taken
  void take_message(message m, const answer& done, delivery how);
  /// A stop was posted there at `posted`: earlier messages that Slack brings again are not begun, which is told below
  /// the message `answers`.
  void stop_refused(const scope_path& where, const std::string& answers, const std::string& posted);
  /// Slack brings it again, with the same key.
  void refused(const std::string& key, const message& m, const classified& what);
  /// When its author gave it its present form.
  static const std::string& posted_at(const message& m);
  /// A refused request is not begun when it comes again. False: it is not one.
  bool leave_out(const std::string& key);
  /// `m` edits or deletes the message `key`, which can be refused: if its present form is to be asked, `m` becomes a
  /// posted message. True: nothing is left to do. `is_cancel`: its text is a word to stop.
  bool change_refused(const std::string& key, message& m, bool is_cancel);
  /// The same for what was changed while quelld had not decided yet, and then it was refused.
  void change_again(const std::string& key, message change);
  /// Keeps an edit of the message `key` if Slack can still bring that.
  void keep_early(const std::string& key, const message& m, const classified& what);
  /// A message that comes behind its edit gets its newest form. False: it does not begin.
  bool follow_early(const std::string& key, message& m) const;
  /// Submits the message once all earlier ones in its channel are decided; `answers`: ts of the message above the
  /// reply.
  void tell(incoming_message s, const std::string& channel, const std::string& answers,
            std::function<void(const result<decision>&)> then);
  void end_of(const channel_end& gone);
  void take_command(const web_call& call, const answer& done);
  void take_action(const web_call& call, const answer& done);
  /// Runs `job` once all earlier messages in its channel are decided, and the next job when it calls `next`: quelld
  /// looks some messages up before it decides, and a stop must not overtake the message that it concerns.
  using step = std::function<void(std::function<void()> next)>;
  void in_turn(const std::string& channel, step job);
  void begin_next(const std::string& channel);
  void tell_alone(const pressed& who, const std::string& text);
  void say_command(const command& c, const scope_path& scope, const answer& done);
  bool is_admitted(const std::string& team, const std::string& user);
  bool is_new_signature(const web_call& call);
  // catching_up.cpp
  void comes(const message& m, const scope_path& where);
  void mark_handled(const message& m, const scope_path& where);
  /// Called before the first delivery: from now on new messages wait for the missed ones.
  void plan_to_catch_up();
  void catch_up_next();
  /// Takes the message if it must wait: then its delivery is answered when it is stored.
  bool holds(const message& m, const classified& what, const answer& done);
  /// It does not begin, in this process or a later one, if it comes again.
  void leave_out_for_good(const std::string& key);
  /// The same, if it is held.
  void leave_out_held(const std::string& key);
  /// Takes up what an earlier process held.
  void hold_again();
  /// A stop that an earlier process had performed, with how many messages did not begin: people are told here.
  struct untold_stop {
    scope_path channel, where;
    std::string id;
    std::size_t left_out = 0;
  };
  /// Those whose channels are not caught up.
  nlohmann::json stops_to_keep() const;
  void recall_stops(const nlohmann::json& kept);
  void wait_at_most(const std::string& channel);
  /// Answers once what the delivery has changed here is stored. Otherwise Slack must bring it again.
  void answer_when_kept(const answer& done);
  void ask_missed(history_question q, unsigned pages, unsigned tries);
  void missed(const history_question& q, unsigned pages, unsigned tries, history_answer a);
  void hear_missed(message m);
  /// Goes on with the channel's next thread, or finishes the channel.
  void go_on(const history_question& last);
  void caught_up(const std::string& channel);
  /// Somebody sent a cancel word while the history is being fetched.
  void stops_missed(const scope_path& channel, const scope_path& where, const std::string& ts);
  /// The scope of this channel and thread; nullopt if the ids are not valid in a scope.
  static std::optional<scope_path> scope(const std::string& team, const std::string& channel,
                                         const std::string& thread);

  slack_settings settings_;
  std::string nonce_;        ///< the same in later processes: with a number it identifies a post
  const std::int64_t began_; ///< seconds: anything signed until then may be known to an earlier process
  std::map<std::string, std::deque<step>> lines_; ///< by channel; the first step of each is in progress
  std::string user_, name_;                       ///< our identity, once Slack has told us
  unsigned introductions_ = 0;
  recent_set events_{20'000};                               ///< ids of finished deliveries
  refused_deliveries refused_;                              ///< by the same ids
  early_edits early_;                                       ///< by the same ids
  std::map<std::string, std::optional<message>> undecided_; ///< by the same ids: the latest edit or deletion
  recent_set signatures_{20'000};                           ///< of commands and buttons: a copy of one has no effect
  recent_set threads_{20'000};         ///< scopes in which the bot speaks: every message there is for it
  handled_marks marks_, thread_marks_; ///< by the scopes of channels, and of threads in which the bot speaks

  /// A channel whose history is being fetched, or will be.
  struct past {
    missed_messages<message> missed_here;
    std::deque<std::string> threads{}; ///< still to be fetched
    bool is_waited_for = false;        ///< somebody has written there since
  };
  held_messages held_; ///< by the ids of their deliveries
  bool catches_up_ = false;
  std::deque<history_question> to_ask_; ///< channels
  std::map<std::string, past> pasts_;   ///< by the channel's scope
  std::vector<untold_stop> untold_;     ///< until we plan to catch up
  std::uint64_t stop_changes_ = 0;      ///< of what `stops_to_keep` returns
  std::string trouble_;                 ///< the error logged last
};

} // namespace quell::integrations::chat::slack
