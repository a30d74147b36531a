#pragma once
#include <string>

#include <slipstream/box.hpp>

namespace slipstream {

/// A cell as text for errors: "(1, 2, 3)".
inline std::string cell_text(const Extent& cell) {
  return std::string("(") + std::to_string(cell[0]) + ", " + std::to_string(cell[1]) + ", " + std::to_string(cell[2]) +
         ")";
}

}  // namespace slipstream
