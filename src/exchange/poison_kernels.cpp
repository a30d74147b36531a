#include "exchange/poison_kernels.hpp"

#include <tuple>

#include <slipstream/launch.hpp>

#include "device/upload.hpp"

namespace slipstream {
inline namespace poison_kernels {

/// Distributes the values that are filled with NaN over the threads.
struct Walk {
  const Poisoned* places;
  std::int64_t count;
  std::byte* const* arrays;
  const Signal* broken;
  int all_threads;

  SLIP_FN std::byte* address(const Poisoned& p, std::int64_t n) const {
    const Window& w = p.places;
    std::byte* const first = w.array < 0 ? reinterpret_cast<std::byte*>(w.base) : arrays[w.array] + w.base;
    if (p.ids) return first + p.ids[n] * p.bytes;
    const std::int64_t width = w.hi[0] - w.lo[0], height = w.hi[1] - w.lo[1];
    const std::int64_t x = n % width, row = n / width;
    return first + x * w.stride[0] + row % height * w.stride[1] + row / height * w.stride[2];
  }

  /// Calls f(number of a view or list to fill with NaN, index in it, address, bytes) for each value of this thread.
  template <class F>
  SLIP_FN void each(std::int64_t me, F f) const {
    if (load_acquire(broken) != 0) return;
    for (std::int64_t place = 0; place < count; ++place)
      for (std::int64_t n = me; n < places[place].count; n += all_threads)
        f(place, n, address(places[place], n), places[place].bytes);
  }
};

/// Fills a value with 0xff in words of at most 4 bytes, the alignment of all types and complex parts.
SLIP_FN void set_all(std::byte* value, int bytes) {
  if (bytes == 1) {
    *reinterpret_cast<std::uint8_t*>(value) = 0xff;
  } else if (bytes == 2) {
    *reinterpret_cast<std::uint16_t*>(value) = 0xffff;
  } else {
    for (int part = 0; part < bytes / 4; ++part) reinterpret_cast<std::uint32_t*>(value)[part] = 0xffffffff;
  }
}
SLIP_FN bool all_set(const std::byte* value, int bytes) {
  if (bytes == 1) return *reinterpret_cast<const std::uint8_t*>(value) == 0xff;
  if (bytes == 2) return *reinterpret_cast<const std::uint16_t*>(value) == 0xffff;
  bool all = true;
  for (int part = 0; part < bytes / 4; ++part) all &= reinterpret_cast<const std::uint32_t*>(value)[part] == 0xffffffff;
  return all;
}

struct Fill {
  Walk walk;
  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    const Walk& all = walk;
    team.each([&](int thread) {
      all.each(static_cast<std::int64_t>(team.index()) * team.threads() + thread,
               [](std::int64_t, std::int64_t, std::byte* value, int bytes) { set_all(value, bytes); });
    });
  }
};

struct Look {
  Walk walk;
  Poison::Left* found;
  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    const Look& self = *this;
    team.each([&](int thread) {
      const std::int64_t me = static_cast<std::int64_t>(team.index()) * team.threads() + thread;
      Poison::Left left;
      self.walk.each(me, [&](std::int64_t place, std::int64_t n, const std::byte* value, int bytes) {
        if (!all_set(value, bytes)) return;
        if (left.count++ == 0) {
          left.place = place;
          left.value = n;
        }
      });
      self.found[me] = left;
    });
  }
};

constexpr int gpu_teams = 128, gpu_threads = 256;

}  // namespace poison_kernels

Poison::Poison(Device device, std::vector<Poisoned> places, const Arrays& arrays)
    : device_(device),
      places_(std::move(places)),
      arrays_(&arrays),
      teams_(device.backend == Backend::host ? 1 : gpu_teams),
      threads_(device.backend == Backend::host ? 1 : gpu_threads) {
  if (places_.empty()) return;
  const std::vector<Left> none(static_cast<std::size_t>(teams_) * static_cast<std::size_t>(threads_));
  table_ = upload(device, places_);
  found_ = upload(device, none);
  found_here_ = Buffer<Left>(device, none.size(), Memory::pinned);
  std::copy(none.begin(), none.end(), found_here_.data());
}

void Poison::fill(Stream& stream, const Signal* broken) const {
  if (places_.empty()) return;
  const Walk walk{table_.data(), static_cast<std::int64_t>(places_.size()),
                  arrays_->count ? arrays_->on_device() : nullptr, broken, teams_ * threads_};
  launch_teams(stream, teams_, threads_, 0, Fill{walk});
}

void Poison::look(Stream& stream, const Signal* broken) {
  if (places_.empty()) return;
  const Walk walk{table_.data(), static_cast<std::int64_t>(places_.size()),
                  arrays_->count ? arrays_->on_device() : nullptr, broken, teams_ * threads_};
  launch_teams(stream, teams_, threads_, 0, Look{walk, found_.data()});
  copy(stream, found_here_.data(), found_.data(), found_.bytes());
}

Poison::Left Poison::left() const {
  Left first;
  std::int64_t all = 0;
  for (std::size_t n = 0; n < found_here_.size(); ++n) {
    const Left& other = found_here_.data()[n];
    all += other.count;
    const bool earlier = std::tie(other.place, other.value) < std::tie(first.place, first.value);
    if (other.count && (!first.count || earlier)) first = other;
  }
  first.count = all;
  return first;
}

}  // namespace slipstream
