// A user-defined coding: ghost cells travel as the upper half of their bits, in half the bytes. Unlike a cast to f32 it
// keeps the range of f64. Runs on GPUs if the library supports them and there are any.
#include <bit>
#include <cmath>
#include <cstdio>
#include <vector>

#include <slipstream/exchange.hpp>
#include <slipstream/own_coding.hpp>

#include "exchange/own_coding_kernels.hpp"  // a header for kernels of codings, which this file compiles
namespace slip = slipstream;

struct TopBits {
  using Value = double;
  using Code = std::uint32_t;
  static constexpr Code sign = 0x80000000u, infinite = 0x7ff00000u, nan = 0x7ff80000u, too_large = 0x7ff5a5a5u;

  /// Rounds to nearest, ties to even. A pattern of NaN marks a value that was too large.
  static SLIP_FN Code encode(double value, bool& overflow) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    if ((bits & ~(std::uint64_t{sign} << 32)) > std::uint64_t{infinite} << 32) return nan;
    const auto code = static_cast<Code>((bits + 0x7fffffffu + (bits >> 32 & 1)) >> 32);
    if ((code & ~sign) < infinite || bits << 32 == 0) return code;
    overflow = true;
    return too_large | (code & sign);
  }
  static SLIP_FN double decode(Code code, bool& overflow) {
    const bool lost = (code & ~sign) == too_large;
    overflow |= lost;
    return std::bit_cast<double>(std::uint64_t{lost ? infinite | (code & sign) : code} << 32);
  }
  static double bound(double largest) { return std::ldexp(largest, -21); }
};

int main() {
  const slip::Communicator comm = slip::Communicator::world();  // this object starts MPI and ends it
  slip::add_coding<TopBits>("top bits");
  const slip::Backend backend = slip::available(slip::Backend::cuda) ? slip::Backend::cuda : slip::Backend::host;
  const slip::Machine machine = slip::Machine::discover(comm, {.backend = backend});
  const slip::Grid grid({64, 8, 8}, machine, comm.rank(), {.periodic = {true, true, true}});
  slip::Field u(grid, {.name = "u", .type = slip::DType::f64, .ghost = {1, 1, 1}, .shared = true});
  const auto wave = [](std::int64_t x) { return 1e200 * std::sin(2 * M_PI * (x + 0.5) / 64); };
  std::vector<double> all;  // values of the whole grid [z][y][x]
  for (int n = 0; n < 64 * 8 * 8; ++n) all.push_back(wave(n % 64));
  u.write({{0, 0, 0}, {64, 8, 8}}, all.data());
  std::vector<slip::Stream> streams;
  for (const int d : machine.devices_of_rank(comm.rank())) streams.emplace_back(machine.device(d).local);

  const slip::Halo halo({});
  slip::Exchange exchange(comm, grid,
                          {{.pattern = &halo, .source = &u, .coding = slip::coding_from_string("own top bits")}});
  exchange.run(streams);
  for (slip::Stream& stream : streams) stream.synchronize();
  exchange.check();  // throws if a value was too large for its coding

  const std::int64_t first = grid.local()[0], left = grid.block(first).box.lo[0] - 1;
  double ghost = 0;
  slip::copy(streams[0], &ghost, u.view<double>(first).origin - 1, sizeof ghost);
  streams[0].synchronize();
  const double off = std::abs(ghost - wave((left + 64) % 64));
  std::printf("rank %d: ghosts on the left hold %.17g, off by %.1e of at most %.1e\n", comm.rank(), ghost, off,
              TopBits::bound(1e200));
  return off > 0 && off <= TopBits::bound(1e200) ? 0 : 1;
}
