// Kernels that encode and decode blocks. They are compiled apart because their code takes more registers and makes
// function calls.
#include "route/program_kernel.hpp"

namespace slipstream {

int resident_in_blocks(Device device, bool combines) {
  return combines ? resident_of_form<true, true, Coded::in_blocks>(device)
                  : resident_of_form<false, true, Coded::in_blocks>(device);
}

void start_in_blocks(Stream& stream, const ProgramParts& parts, bool combines, const Pulse& pulse, bool advance) {
  combines ? start_program<true, true, Coded::in_blocks>(stream, parts, pulse, advance)
           : start_program<false, true, Coded::in_blocks>(stream, parts, pulse, advance);
}

}  // namespace slipstream
