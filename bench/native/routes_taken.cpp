#include "native/routes_taken.hpp"

#include <set>
#include <sstream>

#include "api/python_common.hpp"

namespace slipstream::python {

std::vector<std::string> routes_taken(const std::vector<MessageInfo>& messages) {
  std::string mine;
  for (const MessageInfo& message : messages)
    if (message.source != message.target) mine += to_string(message.route) + ' ';
  std::set<std::string> found;
  for (const std::string& text : world().all_gather(mine)) {
    std::istringstream names(text);
    for (std::string name; names >> name;) found.insert(name);
  }
  return {found.begin(), found.end()};
}

}  // namespace slipstream::python
