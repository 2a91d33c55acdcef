// The output of a program, and a page that is read of it, begin and end anywhere in a character.
#pragma once

#include <cstddef>
#include <string_view>

#include "controller/output_reader.hpp"

namespace quell::controller::turns {

/// The bytes at the end that begin a character of UTF-8 and do not end it: 0 to 3.
std::size_t begun_character(std::string_view bytes);
/// The bytes at the beginning that belong to a character which begins before them: 0 to 3.
std::size_t rest_of_character(std::string_view bytes);

/// Leaves out the character that is not whole at the end, if more may follow; returns its bytes.
std::size_t leave_begun_character(output_reader::slice& slice);
/// Leaves out the one at the beginning.
void skip_rest_of_character(output_reader::slice& slice);

} // namespace quell::controller::turns
