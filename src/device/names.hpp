#pragma once
// Tables of (name, value), for options that are written as text.
#include <string>

#include <slipstream/error.hpp>

namespace slipstream {

/// Name of an option's value, such as an enumerator, in a table of pairs (name, value); empty if it has none.
template <class Table, class Value>
std::string name_in(const Table& table, Value wanted) {
  for (const auto& [name, value] : table)
    if (value == wanted) return name;
  return {};
}

/// The value of a name in a table. If there is none, throws Error invalid_argument: `words`, the name, and the choices.
template <class Table>
auto value_in(const Table& table, const std::string& wanted, const std::string& words, const std::string& option) {
  std::string choices;
  for (const auto& [name, value] : table) {
    if (wanted == name) return value;
    choices += (choices.empty() ? "" : ", ") + std::string(name);
  }
  throw Error(ErrorCode::invalid_argument, words + " '" + wanted + "': choose among " + choices,
              {{"option", option}, {"given", wanted}, {"choices", choices}});
}

}  // namespace slipstream
