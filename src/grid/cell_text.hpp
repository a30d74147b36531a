#pragma once
#include <string>

#include <slipstream/box.hpp>

namespace slipstream {

/// Text of a cell's position for error messages: "(1, 2, 3)".
inline std::string cell_text(const Extent& cell) {
  return std::string("(") + std::to_string(cell[0]) + ", " + std::to_string(cell[1]) + ", " + std::to_string(cell[2]) +
         ")";
}

}  // namespace slipstream
