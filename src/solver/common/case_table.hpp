#pragma once
// The keys of a solver's table in a case file. The schema in Python and the tables of the documentation are made from
// them.
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "device/names.hpp"

namespace slipstream {

/// The values that a key may have. Kind `size`: an amount of memory, such as "8 GiB".
struct KeyValues {
  enum class Kind : std::uint8_t { flag, integer, number, name, size };
  Kind kind = Kind::number;
  std::optional<double> above = {}, least = {}, most = {};  ///< limits of numbers
  bool finite = true;                                       ///< of numbers
  std::vector<std::string> names = {};                      ///< the only values of kind name
  std::vector<std::int64_t> only = {};                      ///< the only integers; empty: all within the limits
  std::vector<int> shape = {};  ///< several values at once, nested: how many, or 0 for any number
  bool expression = false;      ///< each value may also be text, an expression of places
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
/// A list of `count` values. 0: any number of them.
inline KeyValues several(int count, KeyValues one) {
  one.shape.insert(one.shape.begin(), count);
  return one;
}
inline KeyValues flag() { return {.kind = KeyValues::Kind::flag}; }
inline KeyValues integer_from(double least) { return {.kind = KeyValues::Kind::integer, .least = least}; }
inline KeyValues integers(std::vector<std::int64_t> only) {
  return {.kind = KeyValues::Kind::integer, .only = std::move(only)};
}
inline KeyValues number_above(double limit) { return {.kind = KeyValues::Kind::number, .above = limit}; }
inline KeyValues number_from(double least) { return {.kind = KeyValues::Kind::number, .least = least}; }
inline KeyValues names(std::vector<std::string> all) {
  return {.kind = KeyValues::Kind::name, .names = std::move(all)};
}
/// Numbers, each of which may also be an expression.
inline KeyValues or_expression(KeyValues numbers) {
  numbers.expression = true;
  return numbers;
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

inline KeyDefault list_of(const std::array<double, 3>& values) {
  return std::vector<double>(values.begin(), values.end());
}

struct Key {
  std::string name;
  std::vector<KeyValues> values;        ///< kinds of values, any of which the key may have
  std::optional<KeyDefault> otherwise;  ///< default; none: the key is required
  std::string unit;                     ///< unit of the number; "-": dimensionless; empty: the value is not a number
  std::string meaning;
};

struct CaseTable {
  std::string name, meaning;
  std::vector<Key> keys;
  std::string title = {};               ///< of its class in Python; empty: its name
  std::vector<std::string> bases = {};  ///< titles of earlier tables whose keys it has, too
};

}  // namespace slipstream
