// The input with which a human approved a call, where it is not the model's own. Pure.
//
// The call's answer keeps what the model wrote. The input that ran stands beside it, in the call's row, and the model
// reads it with the result.
#pragma once

#include <optional>
#include <string>

#include "controller/records/history.hpp"

namespace quell::controller::turns {

/// JSON text for `call_record::changed`. `input`: JSON text of an object.
std::string changed_text(const std::string& input, const records::person& by);
/// The input in it; nullopt: the text is "", or none of `changed_text`.
std::optional<std::string> changed_input(const std::string& changed);
/// The block `tool` of a call as clients see it: with `changed`, unless that is "".
std::string with_changed(const std::string& block, const std::string& changed);
/// The input that the call ran with.
std::string input_that_ran(const records::call_record& call);

/// The result as the model reads it: it says that a human changed the input, and to what. Of a long input it has the
/// beginning and the end. A result that says that the call never began stays as it is.
std::string with_changed_input(const std::string& result, const std::string& input);
/// The input that such a result names; nullopt: it names none.
std::optional<std::string> input_named_in(const std::string& result);

} // namespace quell::controller::turns
