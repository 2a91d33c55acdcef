// Reads the decisions that are stored with messages (`kept_text` of controller/message_order.hpp wrote them), and adds
// to them. Pure; any other text reads as a decision that says nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/message_order.hpp"
#include "controller/records/history.hpp"

namespace quell::controller::turns {

/// A text not written by `kept_text` reads as an ordinary turn.
kept_decision read_kept(const std::string& text);
/// The files of a message, from its stored decision.
attachments files_in(const std::string& decision);
/// The same stored decision with these files.
std::string decision_with_files(const std::string& decision, const attachments& files);
/// The stored decision of an edited message: it says which turn answered the message as it was first written.
std::string decision_with_origin(const std::string& decision, const operation_id& turn);
std::optional<operation_id> origin_in(const std::string& decision);
/// The stored decision of a copied message: it says which turn had the message of the first copy.
std::string decision_of_copy(const std::string& decision, const operation_id& turn);
/// The turn whose row says how this message came; nullopt: it is of no turn.
std::optional<operation_id> turn_that_brought(const records::message_record& m);
/// Whether the turn began with a stop word that did not count, according to the stored decision.
bool is_refused_stop(const operation_id& turn, const std::vector<records::kept_message>& kept);

} // namespace quell::controller::turns
