#pragma once
// The keys of a solver's table in a case file. The schema in Python and the tables of the documentation are made from
// them.
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "device/names.hpp"

namespace slipstream {

/// A kind of values that a key may have. `size`: of memory, as "8 GiB".
struct KeyValues {
  enum class Kind : std::uint8_t { flag, integer, number, text, name, size };
  Kind kind = Kind::text;
  std::optional<double> above = {}, least = {}, most = {};  ///< limits of numbers
  bool finite = true;                                       ///< of numbers
  std::vector<std::string> names = {};                      ///< the only values of kind name
  std::vector<std::int64_t> only = {};                      ///< the only integers; empty: all within the limits
  std::vector<int> shape = {};  ///< several values at once, nested: how many, or 0 for any number
};

namespace key_values {
inline KeyValues size() { return {.kind = KeyValues::Kind::size}; }
inline KeyValues number() { return {.kind = KeyValues::Kind::number}; }
inline KeyValues with_infinity(KeyValues one) {
  one.finite = false;
  return one;
}
inline KeyValues up_to(double most, KeyValues one) {
  one.most = most;
  return one;
}
/// So many values at once. 0: any number.
inline KeyValues several(int count, KeyValues one) {
  one.shape.insert(one.shape.begin(), count);
  return one;
}
inline KeyValues flag() { return {.kind = KeyValues::Kind::flag}; }
inline KeyValues text() { return {.kind = KeyValues::Kind::text}; }
inline KeyValues integer_from(double least) { return {.kind = KeyValues::Kind::integer, .least = least}; }
inline KeyValues integers(std::vector<std::int64_t> only) {
  return {.kind = KeyValues::Kind::integer, .only = std::move(only)};
}
inline KeyValues number_above(double limit) { return {.kind = KeyValues::Kind::number, .above = limit}; }
inline KeyValues number_from(double least) { return {.kind = KeyValues::Kind::number, .least = least}; }
inline KeyValues names(std::vector<std::string> all) {
  return {.kind = KeyValues::Kind::name, .names = std::move(all)};
}
/// The names of a table of (name, value).
template <class Table>
KeyValues names_of(const Table& table) {
  std::vector<std::string> all;
  for (const auto& [name, value] : table) all.emplace_back(name);
  return names(std::move(all));
}
}  // namespace key_values

/// A value that a key has where it is left out; monostate: it depends on other keys.
using KeyDefault = std::variant<std::monostate, bool, std::int64_t, double, std::string, std::vector<std::int64_t>,
                                std::vector<double>>;

struct Key {
  std::string name;
  std::vector<KeyValues> values;        ///< any of these
  std::optional<KeyDefault> otherwise;  ///< none: the key is needed
  std::string unit;                     ///< "-": a number without one; empty: no number
  std::string meaning;
};

struct CaseTable {
  std::string name, meaning;
  std::vector<Key> keys;
};

}  // namespace slipstream
