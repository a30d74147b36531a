#include <algorithm>
#include <sstream>

#include <slipstream/error.hpp>

#include "route/route.hpp"

namespace slipstream {

std::vector<RouteKind> routes_from_string(const std::string& text) {
  std::vector<RouteKind> kinds;
  bool first = true;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    word.erase(std::remove(word.begin(), word.end(), ' '), word.end());
    if (word.empty()) continue;
    const bool sign = word[0] == '+' || word[0] == '-';
    const RouteKind kind = route_from_string(word.substr(sign ? 1 : 0));
    if (first && sign) kinds = all_routes();
    first = false;
    kinds.erase(std::remove(kinds.begin(), kinds.end(), kind), kinds.end());
    if (word[0] != '-') kinds.push_back(kind);
  }
  if (first) return all_routes();
  require(!kinds.empty(), "routes '" + text + "' leave none: name at least one, staged serves any pair of devices",
          {{"option", "routes"}, {"given", text}});
  std::sort(kinds.begin(), kinds.end());
  return kinds;
}

}  // namespace slipstream
