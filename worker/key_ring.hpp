// The worker's keys, and the choice for its next connection. Pure: the owner stores `text` when asked to.
//
// Both ends can be about to change their keys. The worker then holds two keys of its own (the present one and the next
// one), or knows two of the controller, and after a crash on either side it can be unknown which of them the other side
// accepts. So a refused combination is followed by the next one until a welcome shows which one is valid; that one
// stays.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "protocol/fault.hpp"
#include "protocol/socket.hpp"

namespace quell::worker {

class key_ring {
 public:
  /// The file's information for people who asked for a new key.
  struct summary {
    std::string public_key; ///< public half of the key in use; "" = the key that the worker was given
    bool is_changing = false;
    std::string refusal; ///< why the last change was refused
  };

  /// `given`: the worker's key from the join line or `keygen`; `controller`: the controller's public key from the join
  /// line. Entries of the text (the file's, "" = none) about other keys than these are void: the worker was enrolled
  /// anew. Fault `bad_key`.
  static result<key_ring> read(const std::string& text, key_pair given, std::string controller);
  /// The summary of a file, which can be broken.
  static summary look_at(const std::string& text);
  /// The text to store; contains secrets.
  std::string text() const;

  // ---- the keys for the next connection
  const key_pair& own() const { return uses_next_ ? *next_ : key_; }
  const std::string& controller() const { return uses_next_controller_ ? next_controller_ : controller_; }
  /// The other side refused these keys: switch to the next combination. False if there is none.
  bool try_another();
  /// The connection ended, and the controller may have changed to its next key: use that one. False if none is known.
  bool try_next_controller();
  /// A welcome came under these keys, which are the only ones from now on. True if the text has changed.
  bool worked();

  // ---- the worker's own keys
  /// Makes `fresh` the next key, unless there is one already.
  void prepare(key_pair fresh);
  /// The public half of the next key, for the offer.
  std::optional<std::string> offer() const;
  /// The controller has stored it: it is used from now on.
  void use_next() { uses_next_ = next_.has_value(); }
  const std::optional<key_pair>& next() const { return next_; }
  /// The controller refuses the key: it is dropped.
  void refuse(std::string why);

  // ---- the controller's keys
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
