#pragma once
// A user-defined coding, written in C++ as a class:
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
// Both functions run in the engine's kernels, on hosts and GPUs; they must give the same bits on both. Either sets
// `overflow` where a value cannot be written. The receiver must detect that from the code alone, because it reports to
// its own rank. Bytes of 0xff mark memory that nobody has written (ExchangeOptions::poison), and should decode to NaN.
//
// The file that calls add_coding<TopBits>() also includes "exchange/own_coding_kernels.hpp". It compiles the kernels,
// as CUDA if they are to run on a GPU. That header and those that it includes are installed only for this purpose, with
// the target Slipstream::coding. Nothing else in them is an interface.
#include <string>

#include <slipstream/device.hpp>
#include <slipstream/field.hpp>

namespace slipstream {

class Stream;
struct ProgramParts;
struct Pulse;
struct ErrorMeasure;

/// A user-defined coding of message values as the engine knows it: value sizes, and functions that launch its kernels.
struct OwnCoding {
  std::string name;
  DType type = DType::f64;  ///< type of the fields: f32 or f64
  int code_bytes = 0;       ///< bytes of each value in flight
  double (*bound)(double largest) = nullptr;
  int (*resident)(Device device, bool combines) = nullptr;
  void (*start)(Stream& stream, const ProgramParts& parts, bool combines, const Pulse& pulse, bool advance) = nullptr;
  void (*measure)(Stream& stream, const ErrorMeasure& measure) = nullptr;
};

/// Registers a coding in this process. Items of exchanges may then have {Coding::Kind::own, .name = its name}. All
/// ranks register the same codings. Throws Error where the name is empty or taken, where 255 codings are registered,
/// and where a value's code is not narrower than the value.
void add_coding(OwnCoding coding);

/// Number of a user-defined coding by its name, from 1; 0 where no coding has this name.
int own_coding_number(const std::string& name);
const OwnCoding& own_coding(int number);

}  // namespace slipstream
