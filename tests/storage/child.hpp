// Work in a forked child process: what would end, confine or un-privilege the test program itself.
#pragma once

#include <functional>
#include <string>

namespace quell::storage::test {

/// Runs `body` in a child and gives back what it returned. A child that dies says how.
std::string in_child(const std::function<std::string()>& body);

} // namespace quell::storage::test
