#include "native/flag_toys.hpp"

#include <random>
#include <vector>

#include <slipstream/launch.hpp>

#include <slipstream/device/bits.hpp>

#include "device/upload.hpp"

namespace slipstream::lbm {
namespace {

template <bool inside, bool four>
struct Toy {
  const std::uint32_t *a, *b;
  double* values;
  std::int64_t rounds;

  static SLIP_FN bool differ(std::uint32_t a, std::uint32_t b) { return four ? bytes_that_differ(a, b) != 0 : a != b; }
  /// The logistic map x -> factor x (1 - x) of the toy kernels, with the sign for which it is bounded.
  static SLIP_FN double map(double factor, double x) { return factor * x * (1 - x); }

  SLIP_FN void operator()(int i, int j, int) const {
    const std::int64_t n = static_cast<std::int64_t>(j) * 1024 + i;
    double x = values[n];
    if constexpr (inside) {
      // The flag words are volatile, so that each iteration loads them anew, as the kernel of Zheng 2023 does.
      const volatile std::uint32_t *first = a + n, *second = b + n;
      for (std::int64_t r = 0; r < rounds; ++r) x = differ(*first, *second) ? map(4, x) : map(3.8, x);
    } else if (differ(a[n], b[n])) {
      for (std::int64_t r = 0; r < rounds; ++r) x = map(4, x);
    } else {
      for (std::int64_t r = 0; r < rounds; ++r) x = map(3.8, x);
    }
    values[n] = x;
  }
};

template <bool inside, bool four>
void start(Stream& stream, const FlagToy& toy, const std::uint32_t* a, const std::uint32_t* b, double* values) {
  launch(stream, Box{{0, 0, 0}, {1024, toy.words / 1024, 1}}, Toy<inside, four>{a, b, values, toy.rounds});
}

}  // namespace

FlagToyTime run_flag_toy(Device device, const FlagToy& toy) {
  require(toy.words > 0 && toy.words % 1024 == 0, "the toy kernels take a multiple of 1024 words");
  std::mt19937 random(11);
  std::vector<std::uint32_t> first, second;
  std::vector<double> numbers;
  for (std::int64_t n = 0; n < toy.words; ++n) {
    first.push_back(random());
    second.push_back(n % 2 == 0 ? first.back() : random());
    numbers.push_back(static_cast<double>(random()) / 4294967296.0);
  }
  const auto a = upload(device, first), b = upload(device, second);
  auto values = upload(device, numbers);
  Stream stream(device);
  const Event from(device, true), to(device, true);
  stream.record(from);
  if (toy.inside) {
    toy.four ? start<true, true>(stream, toy, a.data(), b.data(), values.data())
             : start<true, false>(stream, toy, a.data(), b.data(), values.data());
  } else {
    toy.four ? start<false, true>(stream, toy, a.data(), b.data(), values.data())
             : start<false, false>(stream, toy, a.data(), b.data(), values.data());
  }
  stream.record(to);
  Buffer<double> host(device, numbers.size(), Memory::pinned);
  copy(stream, host.data(), values.data(), host.bytes());
  stream.synchronize();
  FlagToyTime time{milliseconds(from, to), 0};
  for (std::size_t n = 0; n < host.size(); ++n) time.checksum += host.data()[n];
  return time;
}

}  // namespace slipstream::lbm
