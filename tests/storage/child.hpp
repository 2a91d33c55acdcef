// Work in a forked child process: for steps that would end, confine or un-privilege the test program itself.
#pragma once

#include <functional>
#include <string>

namespace quell::storage::test {

/// Runs `body` in a child and returns its result. If the child dies, the result says how.
std::string in_child(const std::function<std::string()>& body);

} // namespace quell::storage::test
