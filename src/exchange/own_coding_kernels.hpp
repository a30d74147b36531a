#pragma once
// Kernels of the caller's own coding (slipstream/own_coding.hpp), for the file that adds it.
#include <string>
#include <type_traits>

#include <slipstream/own_coding.hpp>

#include "exchange/coding_errors_kernel.hpp"
#include "route/program_kernel.hpp"

namespace slipstream {

template <class Own>
int resident_own(Device device, bool combines) {
  return combines ? resident_of_form<true, true, Coded::by_value, Own>(device)
                  : resident_of_form<false, true, Coded::by_value, Own>(device);
}

template <class Own>
void start_own(Stream& stream, const ProgramParts& parts, bool combines, const Pulse& pulse, bool advance) {
  combines ? start_program<true, true, Coded::by_value, Own>(stream, parts, pulse, advance)
           : start_program<false, true, Coded::by_value, Own>(stream, parts, pulse, advance);
}

/// add_coding() for a class.
template <class Own>
void add_coding(const std::string& name) {
  static_assert(std::is_unsigned_v<typename Own::Code>, "the code of a value is an unsigned number");
  add_coding({name, dtype_of<typename Own::Value>(), static_cast<int>(sizeof(typename Own::Code)), &Own::bound,
              &resident_own<Own>, &start_own<Own>, &start_measure<Own>});
}

}  // namespace slipstream
