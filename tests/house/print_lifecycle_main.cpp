// Prints the lifecycle table as the mermaid diagram of docs/CANCELLATION.md.
#include <algorithm>
#include <iostream>
#include <string>

#include "protocol/lifecycle.hpp"

int main() {
  using namespace quell;
  std::cout << "stateDiagram-v2\n    [*] --> " << name_of(status::pending) << '\n';
  for (const auto& move : lifecycle_table) {
    std::string label(move.when);
    std::replace(label.begin(), label.end(), ';', ','); // a semicolon ends a label in mermaid
    std::cout << "    " << name_of(move.from) << " --> " << name_of(move.to) << ": " << label << '\n';
  }
  for (std::size_t i = 0; i < count_of<status>(); ++i)
    if (is_terminal(static_cast<status>(i))) std::cout << "    " << name_of(static_cast<status>(i)) << " --> [*]\n";
}
