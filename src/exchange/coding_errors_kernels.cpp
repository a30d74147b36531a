#include "exchange/coding_errors_kernels.hpp"

#include <cmath>

#include <slipstream/launch.hpp>

#include "coding/cast.hpp"
#include "device/upload.hpp"

namespace slipstream {
inline namespace coding_errors_kernels {

constexpr int teams = 64, threads_of_team = 128;

SLIP_FN double part(double value, int) { return value; }
SLIP_FN double part(float value, int) { return static_cast<double>(value); }
SLIP_FN double part(const Complex<double>& value, int which) { return which ? value.imaginary : value.real; }
template <class Value>
constexpr int parts_of = 1;
template <>
constexpr int parts_of<Complex<double>> = 2;

struct Measure {
  const Mover* movers;
  std::size_t count;
  std::byte* const* arrays;
  ErrorSums* partial;
  int all_threads;

  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    const Measure& self = *this;
    team.each([&](int thread) {
      const std::int64_t me = static_cast<std::int64_t>(team.index()) * team.threads() + thread;
      ErrorSums sums;
      for (std::size_t m = 0; m < self.count; ++m) self.add(self.movers[m], me, sums);
      self.partial[me] = sums;
    });
  }

  SLIP_FN void add(const Mover& mover, std::int64_t me, ErrorSums& sums) const {
    // Of an array that may be another one now, `source` is the way from its first byte.
    const std::byte* const first = mover.source_array < 0
                                       ? mover.source
                                       : arrays[mover.source_array] + reinterpret_cast<std::intptr_t>(mover.source);
    with_cast(mover.type, mover.wire, [&]<class Cast>(Cast) {
      using Value = typename Cast::Value;
      const std::int64_t words = mover.extent[0] * mover.extent[1] * mover.extent[2];
      for (std::int64_t n = me; n < words; n += all_threads) {
        const std::int64_t x = n % mover.extent[0], row = n / mover.extent[0];
        const std::int64_t y = row % mover.extent[1], z = row / mover.extent[1];
        const std::int64_t at =
            mover.source_ids ? mover.source_ids[n]
                             : x * mover.source_stride[0] + y * mover.source_stride[1] + z * mover.source_stride[2];
        const Value value = reinterpret_cast<const Value*>(first)[at];
        bool overflow = false;
        const Value decoded = Cast::decode(Cast::encode(value, overflow), overflow);
        for (int p = 0; p < parts_of<Value>; ++p) {
          const double difference = part(decoded, p) - part(value, p);
          if (difference - difference != 0) continue;  // one of them is infinite or no number
          const double size = difference < 0 ? -difference : difference;
          if (size > sums.largest) sums.largest = size;
          sums.squares += difference * difference;
          ++sums.numbers;
        }
      }
    });
  }
};

}  // namespace coding_errors_kernels

ErrorProbe::ErrorProbe(Device device, const std::vector<Mover>& movers, const Arrays& arrays)
    : device_(device), arrays_(&arrays), count_(movers.size()) {
  std::vector<Mover> placed = movers;
  for (Mover& mover : placed)
    if (mover.source_array >= 0)
      mover.source = reinterpret_cast<const std::byte*>(mover.source -
                                                        arrays.planned[static_cast<std::size_t>(mover.source_array)]);
  const bool host = device.backend == Backend::host;
  threads_ = host ? 1 : teams * threads_of_team;
  movers_ = upload(device, placed);
  partial_ = upload(device, std::vector<ErrorSums>(static_cast<std::size_t>(threads_)));
}

void ErrorProbe::run(Stream& stream) const {
  const bool one = threads_ == 1;
  const Measure kernel{movers_.data(), count_, arrays_->count ? arrays_->on_device() : nullptr, partial_.data(),
                       threads_};
  launch_teams(stream, one ? 1 : teams, one ? 1 : threads_of_team, 0, kernel);
}

ErrorSums ErrorProbe::sums() const {
  Stream stream(device_);
  Buffer<ErrorSums> here(device_, partial_.size(), Memory::pinned);
  synchronize(device_);
  copy(stream, here.data(), partial_.data(), here.bytes());
  stream.synchronize();
  ErrorSums all;
  for (std::size_t n = 0; n < here.size(); ++n) all.add(here.data()[n]);
  return all;
}

std::int64_t ErrorProbe::bytes() const { return static_cast<std::int64_t>(movers_.bytes() + partial_.bytes()); }

}  // namespace slipstream
