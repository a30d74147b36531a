// Kernels that encode and decode single values. They are compiled apart because each cast instantiates every form of a
// work.
#include "route/program_kernel.hpp"

namespace slipstream {

int resident_coded(Device device, bool combines) {
  return combines ? resident_of_form<true, true, Coded::by_value>(device)
                  : resident_of_form<false, true, Coded::by_value>(device);
}

void start_coded(Stream& stream, const ProgramParts& parts, bool combines, const Pulse& pulse, bool advance) {
  combines ? start_program<true, true, Coded::by_value>(stream, parts, pulse, advance)
           : start_program<false, true, Coded::by_value>(stream, parts, pulse, advance);
}

}  // namespace slipstream
