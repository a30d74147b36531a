#pragma once
// Kernels of the caller's own coding (slipstream/own_coding.hpp), for the file that adds it.
#include <string>
#include <type_traits>

#include <slipstream/own_coding.hpp>

#include "exchange/coding_errors_kernel.hpp"
#include "mover/program_kernel.hpp"

namespace slipstream {

/// Instantiates the kernels of a coding class, and registers it by add_coding().
template <class Own>
void add_coding(const std::string& name) {
  static_assert(std::is_unsigned_v<typename Own::Code>, "the code of a value is an unsigned number");
  const ProgramKernels kernels = program_kernels_of<Coded::by_value, Own>();
  add_coding({name, dtype_of<typename Own::Value>(), static_cast<int>(sizeof(typename Own::Code)), &Own::bound,
              kernels.resident, kernels.start, &start_measure<Own>});
}

}  // namespace slipstream
