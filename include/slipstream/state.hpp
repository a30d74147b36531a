#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>

#include <slipstream/field.hpp>

namespace slipstream {

/// How a field follows from another one of other components, cell by cell.
struct Translation {
  std::string from;    ///< name of the other field, of the same type of values
  int components = 1;  ///< of the other field
  /// `cells` cells side by side, each with its components one after the other.
  std::function<void(const std::byte* from, std::byte* to, std::int64_t cells)> by;
};

/// Named fields and the time: all that output and checkpoints see. Fields belong to the Simulation.
///
/// Between steps the interior cells of these fields, the time and the step say all that the next step depends on: a
/// Simulation in whose State they are set from outside goes on with the same bits.
struct State {
  std::map<std::string, Field*> fields;
  double time = 0;  ///< in the units of the Simulation
  std::int64_t step = 0;

  /// Names of fields that the case determines (flags of walls): a restart compares them and does not set them.
  std::set<std::string> fixed;
  /// Fields that are made when they are first asked for, with what makes them, collectively.
  std::map<std::string, std::function<void()>> made_when_asked;
  /// Fields that a Simulation keeps in a form of its own between steps, with what brings one into that in which others
  /// read and set it, the devices being idle.
  std::map<std::string, std::function<void()>> arrange;
  /// Fields that a checkpoint may hold as another one instead.
  std::map<std::string, Translation> translations;
  /// How often fields, time and step were set from outside: what was derived from them before is out of date.
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
