#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>

#include <slipstream/field.hpp>

namespace slipstream {

/// Computes a field, cell by cell, from another one with other components.
struct Translation {
  std::string from;    ///< name of the input field, from which another one of the same number type is computed
  int components = 1;  ///< number of components of the input field
  /// Function that computes output values of `cells` consecutive cells, where components of a cell lie side by side.
  std::function<void(const std::byte* from, std::byte* to, std::int64_t cells)> by;
};

/// Named fields and the time, the interface of output and checkpoints. The Simulation owns the fields.
///
/// Between steps, the next step depends only on the interior cells of these fields, the time and the step. A Simulation
/// whose State is set to these values continues with the same bits.
struct State {
  std::map<std::string, Field*> fields;
  double time = 0;  ///< time in the units of the Simulation
  std::int64_t step = 0;

  /// Names of fields that the case determines, such as flags of walls. A restart compares them and does not set them.
  std::set<std::string> fixed;
  /// Fields that are allocated on first use, with the function that makes them. Collective.
  std::map<std::string, std::function<void()>> made_when_asked;
  /// Fields that a Simulation stores in an internal form between steps, with a function that converts to the form for
  /// readers and writers. The devices must be idle.
  std::map<std::string, std::function<void()>> arrange;
  /// Fields that a restart may compute from another field of the checkpoint.
  std::map<std::string, Translation> translations;
  /// Number of times that fields, time and step were set from outside. Data derived from them before is then out of
  /// date.
  std::int64_t restarts = 0;

  Field& operator[](const std::string& name) const {
    const auto it = fields.find(name);
    if (it == fields.end())
      throw Error(ErrorCode::not_found, "the state has no field named '" + name + "'", {{"field", name}});
    if (const auto own = arrange.find(name); own != arrange.end()) own->second();
    return *it->second;
  }
};

}  // namespace slipstream
