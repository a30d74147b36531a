#pragma once
// A coding of one's own, written in C++ as a class:
//
//     struct TopBits {
//       using Value = double;         // of the field: float or double
//       using Code = std::uint32_t;   // what travels: an unsigned number of 1, 2, 4 or 8 bytes, narrower than Value
//       static SLIP_FN Code encode(Value value, bool& overflow);
//       static SLIP_FN Value decode(Code code, bool& overflow);
//       static double bound(double largest);  // error of a value whose magnitude is at most this
//     };
//
// encode() and decode() run in the engine's kernels, on hosts and GPUs: the same bits on both, or results depend on the
// backend. Either sets `overflow` where a value cannot be written; decode() must find out from the code alone, for the
// receiver tells its own rank so. Codes are read as the bytes that encode() gave. The bytes 0xff of memory that nobody
// has written (ExchangeOptions::poison) should decode to no number.
//
// The file that calls add_coding<TopBits>() includes "exchange/own_coding_kernels.hpp" besides. It compiles the
// kernels, as CUDA where they shall run on a GPU. That header and those that it includes are installed for this alone,
// with the target Slipstream::coding: nothing else in them is an interface.
#include <string>

#include <slipstream/device.hpp>
#include <slipstream/field.hpp>

namespace slipstream {

class Stream;
struct ProgramParts;
struct Pulse;
struct ErrorMeasure;

/// What the engine knows of a coding of one's own: its values, and who starts its kernels.
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
