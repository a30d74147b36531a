// The forms of a program's kernel that encode and decode values one by one, apart: each cast makes code of its own of
// each form of a work.
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
