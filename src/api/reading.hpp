#pragma once
// Reads options that come from Python as a dict, and names that stand for values.
#include <algorithm>
#include <optional>

#include <slipstream/transfer.hpp>

#include "api/python_common.hpp"
#include "machine/agree.hpp"

namespace slipstream::python {

template <class Value, std::size_t N>
Value one_of(const std::string& text, const std::pair<const char*, Value> (&choices)[N], const char* what) {
  std::string names;
  for (const auto& [name, value] : choices) {
    if (text == name) return value;
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  throw Error(ErrorCode::invalid_argument,
              std::string("no ") + what + " is named '" + text + "': choose among " + names,
              {{"option", what}, {"given", text}, {"choices", names}});
}

/// Returns the result of `read`. An error of one rank is raised on all, so that none is left waiting. Collective.
template <class Read>
auto on_every_rank(const Communicator& comm, const Read& read) {
  std::optional<decltype(read())> made;
  const Problem refused = failure_of([&] { made.emplace(read()); });
  const Released release;
  agree(comm, refused);
  return std::move(*made);
}

/// Returns the operation that combines values, given by its name in Python: add, min, max or multiply.
inline Op op_from(const std::string& name) {
  return one_of<Op>(name, {{"add", Op::add}, {"min", Op::min}, {"max", Op::max}, {"multiply", Op::multiply}},
                    "combination");
}

/// Reads options of a dict one by one, and finds unused ones.
class Reader {
 public:
  Reader(const nb::dict& options, const char* what) : options_(options), what_(what) {}
  template <class T>
  void read(const char* key, T& value) {
    known_.push_back(key);
    if (!options_.contains(key)) return;
    try {
      value = nb::cast<T>(options_[key]);
    } catch (const std::bad_cast&) {
      throw Error(
          ErrorCode::invalid_argument,
          "the option '" + std::string(key) + "' of " + what_ +
              " has a value of the wrong type: " + nb::cast<std::string>(nb::repr(options_[key])),
          {{"option", std::string(key)}, {"of", what_}, {"given", nb::cast<std::string>(nb::repr(options_[key]))}});
    }
  }
  /// Reads an option whose value is given by a name.
  template <class Value>
  void read(const char* key, Value& value, Value (*from_name)(const std::string&)) {
    std::string name;
    read(key, name);
    if (options_.contains(key)) value = from_name(name);
  }
  void finish() const {
    for (const auto& [key, value] : options_) {
      const auto name = nb::cast<std::string>(key);
      if (std::find(known_.begin(), known_.end(), name) == known_.end())
        throw Error(ErrorCode::invalid_argument, what_ + " has no option named '" + name + "'; " + hint(name),
                    {{"option", name}, {"of", what_}});
    }
  }

 private:
  /// A hint for error messages: the nearest known name, or all names.
  std::string hint(const std::string& name) const {
    nb::list names;
    for (const std::string& known : known_) names.append(nb::cast(known));
    const nb::list near(nb::module_::import_("difflib").attr("get_close_matches")(name, names, 1));
    if (near.size() > 0) return "did you mean '" + nb::cast<std::string>(near[0]) + "'?";
    return "there are " + nb::cast<std::string>(nb::str(", ").attr("join")(names));
  }

  const nb::dict& options_;
  std::string what_;
  std::vector<std::string> known_;
};

}  // namespace slipstream::python
