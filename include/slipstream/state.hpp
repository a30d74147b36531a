#pragma once
#include <map>
#include <string>

#include <slipstream/field.hpp>

namespace slipstream {

/// Named fields and the time: all that output and checkpoints see. Fields belong to the Simulation.
struct State {
  std::map<std::string, Field*> fields;
  double time = 0;  ///< in the units of the Simulation
  std::int64_t step = 0;

  Field& operator[](const std::string& name) const {
    const auto it = fields.find(name);
    require(it != fields.end(), "the state has no field named '" + name + "'");
    return *it->second;
  }
};

}  // namespace slipstream
