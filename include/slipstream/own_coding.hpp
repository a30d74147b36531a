#pragma once
// A coding of one's own, written in C++ as a class:
//
//     struct TopBits {
//       using Value = double;
//       using Code = std::uint32_t;
//       static SLIP_FN Code encode(Value value, bool& overflow);
//       static SLIP_FN Value decode(Code code, bool& overflow);
//       static double bound(double largest);
//     };
//
// `Value` is float or double. `Code` is an unsigned number of 1, 2 or 4 bytes, narrower than the value. The bound is
// the largest error of a value whose magnitude is at most `largest`.
//
// Both functions run in the engine's kernels, on hosts and GPUs. The same bits on both are the coding's to keep. Either
// sets `overflow` where a value cannot be written. The receiver must find out from the code alone, for it tells its own
// rank so. Bytes of 0xff, of memory that nobody has written (ExchangeOptions::poison), should be no number.
//
// The file that calls add_coding<TopBits>() includes "exchange/own_coding_kernels.hpp" besides. It compiles the
// kernels, as CUDA where they shall run on a GPU. That header and those that it includes are installed for this alone,
// with the target Slipstream::coding. Nothing else in them is an interface.
#include <string>

#include <slipstream/device.hpp>
#include <slipstream/field.hpp>

namespace slipstream {

class Stream;
struct ProgramParts;
struct Pulse;
struct ErrorMeasure;

/// A coding of one's own, as the engine knows it: its values, and who starts its kernels.
struct OwnCoding {
  std::string name;
  DType type = DType::f64;  ///< of fields: f32 or f64
  int code_bytes = 0;       ///< of each value in flight
  double (*bound)(double largest) = nullptr;
  int (*resident)(Device device, bool combines) = nullptr;
  void (*start)(Stream& stream, const ProgramParts& parts, bool combines, const Pulse& pulse, bool advance) = nullptr;
  void (*measure)(Stream& stream, const ErrorMeasure& measure) = nullptr;
};

/// Makes a coding known to this process: the items of its exchanges may have {Coding::Kind::own, .name = its name} from
/// then on. All ranks add the same ones. Throws Error where the name is empty or taken, where 255 are known, and where
/// a value's code is no narrower than the value.
void add_coding(OwnCoding coding);

/// From 1 on; 0 where nobody has added one of this name.
int own_coding_number(const std::string& name);
const OwnCoding& own_coding(int number);

}  // namespace slipstream
