// Which keys the worker has and which of them its next connection uses. Pure: the owner stores `text` when told to.
//
// Both ends may be about to change theirs. The worker then holds two keys of its own (the one in use and the next one),
// or knows two of the controller, and which of them the other side takes may be unknown after a crash on either side.
// So what is refused is followed by the next combination, until a welcome says which one is good; that one stays.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "protocol/fault.hpp"
#include "protocol/socket.hpp"

namespace quell::worker {

class key_ring {
 public:
  /// What the file says to people who asked for a new key.
  struct summary {
    std::string public_key; ///< of the key in use; "" = the one that the worker was given
    bool is_changing = false;
    std::string refusal; ///< why the last change was refused
  };

  /// `given`: the worker's key as the join line or `keygen` has it; `controller`: the controller's public key of the
  /// join line. What the text (of the file, "" = none) says of others than these is void: the worker was enrolled anew.
  /// Fault `bad_key`.
  static result<key_ring> read(const std::string& text, key_pair given, std::string controller);
  /// Of a file that may be broken.
  static summary look_at(const std::string& text);
  /// What is to be stored, with secrets in it.
  std::string text() const;

  // ---- what the next connection uses
  const key_pair& own() const { return uses_next_ ? *next_ : key_; }
  const std::string& controller() const { return uses_next_controller_ ? next_controller_ : controller_; }
  /// The other side said no to these: others are used from now on. False if there are no others.
  bool try_another();
  /// The connection ended, and the controller may have changed to its next key: that one is used. False if none is
  /// known.
  bool try_next_controller();
  /// A welcome came under these, which are the only ones from now on. True if the text has changed.
  bool worked();

  // ---- the worker's own
  /// `fresh` is the next one, unless there is one already.
  void prepare(key_pair fresh);
  /// The public half of the next one, to be offered.
  std::optional<std::string> offer() const;
  /// The controller has it: from now on it is used.
  void use_next() { uses_next_ = next_.has_value(); }
  const std::optional<key_pair>& next() const { return next_; }
  /// The controller does not take it: it is forgotten.
  void refuse(std::string why);

  // ---- the controller's
  /// True if the text has changed.
  bool learn_controller(const std::string& public_key);

 private:
  std::string given_;            ///< public half
  std::string given_controller_; ///< of the join line
  key_pair key_;
  std::optional<key_pair> next_;
  std::string controller_, next_controller_;
  std::string refusal_;
  bool uses_next_ = false, uses_next_controller_ = false;
};

} // namespace quell::worker
