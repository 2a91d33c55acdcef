// The common part of sessions whose service carries lines between people: undecided messages, questions to humans,
// complaints, and an outbox that sends when the connection may. Pure.
//
// A service derives from it: it reads its own protocol, passes on what people write (`take`), and sends an action
// (`say`).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "integrations/chat/addressing.hpp"
#include "integrations/chat/open_questions.hpp"
#include "integrations/chat/outbox.hpp"
#include "integrations/chat/place_paces.hpp"
#include "integrations/chat/service_session.hpp"

namespace quell::integrations::chat {

class line_chat_session : public service_session {
 public:
  void on_event(const event& e, boot_time now) override;
  void decided(std::uint64_t mark, const result<decision>& what, boot_time now) override;
  void approved(std::uint64_t mark, const result<void>& what, boot_time now) override;
  std::vector<operation_id> recall(std::string_view kept, boot_time now) override;
  std::uint64_t last_event() const override { return outbox_.last_event(); }
  void events_are_complete(std::uint64_t newest, bool is_whole, boot_time now) override;
  void looked(const operation_id& which, std::optional<status> how, boot_time now) override;
  std::string to_keep() const override;
  std::uint64_t version() const override { return outbox_.changes() + more_changes(); }

  std::string to_send() override { return std::exchange(out_, {}); }
  std::vector<received_message> take_received() override { return std::exchange(received_, {}); }
  std::vector<approval_word> approvals() override { return std::exchange(approvals_, {}); }
  std::vector<message_change> take_changes() override { return std::exchange(changes_, {}); }
  void drop(const operation_id& turn, boot_time now) override;
  std::optional<disconnect_request> disconnect_wanted() override { return std::exchange(disconnect_, std::nullopt); }
  std::optional<boot_time> due() const override { return due_; }
  bool is_up() const override { return is_steady_; }

 protected:
  using cancel_test = std::function<bool(std::string_view, const std::vector<std::string>&)>;

  line_chat_session(outbox_rules rules, cancel_test is_cancel, bool needs_address);

  /// Whether text for people may be sent now.
  virtual bool may_speak() const = 0;
  virtual done_how say(const action& a) = 0;
  /// Sets `due_`.
  virtual void plan(boot_time now) = 0;

  /// Additional state for a restart; `more_changes` grows whenever it changes.
  virtual std::string more_to_keep() const = 0;
  virtual std::uint64_t more_changes() const = 0;
  virtual void recall_more(const std::string& kept) = 0;
  /// quelld has decided about the message whose `take` returned this mark; `comes_again`: it was not accepted and will
  /// be repeated.
  virtual void is_settled(std::uint64_t mark, bool comes_again) = 0;

  /// Takes a message to us, or in a place where we are. Decides whether it is for quelld: returns 0 if it is not,
  /// otherwise its mark. `key`: of later changes; "" = none.
  std::uint64_t take(const scope_path& place, const address_split& words, const person& by, std::string id,
                     std::vector<std::string> names, boot_time now, std::string key = {});
  incoming_message message_of(const scope_path& place, const address_split& words, const person& by, std::string id,
                              std::vector<std::string> names) const;
  /// Whether it is a cancel word that applies to everybody there.
  bool is_stop(const address_split& words, const std::vector<std::string>& names) const;
  void speak(boot_time now);
  /// When `speak` says something again; nullopt = not before another call.
  std::optional<boot_time> next_words(boot_time now) const;
  void hang_up(std::string why, redial when);
  /// The text of an action; also records questions as asked or answered.
  std::string text_of(const action& a);

  std::string out_;
  std::vector<message_change> changes_; ///< that people made to their messages, if the service tells
  std::optional<disconnect_request> disconnect_;
  std::optional<boot_time> due_;
  bool is_leaving_ = false; ///< disconnected: this connection receives and sends nothing more
  bool is_steady_ = false;
  outbox outbox_;

 private:
  bool answers_question(const scope_path& place, std::string_view text, const person& by);
  void complain(const scope_path& place, const std::string& text, boot_time now);
  void close(std::uint64_t mark, const fault* why, const char* refusal, boot_time now);

  const cancel_test is_cancel_;
  const bool needs_address_; ///< messages that do not address the bot are ignored, except cancels
  std::vector<received_message> received_;
  std::vector<approval_word> approvals_;
  open_questions questions_;
  bool is_behind_ = false; ///< events were missed that are not passed in yet
  place_paces warnings_;   ///< a person who is refused over and over silences no other place
  std::uint64_t last_mark_ = 0;
  std::map<std::uint64_t, scope_path> undecided_;
};

} // namespace quell::integrations::chat
