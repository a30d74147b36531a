#include "collective/block_sums_kernels.hpp"
#include "collective/collective_kernels.hpp"

#include <slipstream/launch.hpp>

#include "device/upload.hpp"

namespace slipstream {
inline namespace block_sums_kernels {

constexpr int threads_of_gpu = 512;

/// Adds up in one team, level by level. Sums that fit are added in shared memory, where a level costs one barrier
/// instead of three dependent reads from device memory.
struct AddUp {
  const double* from;
  double *work, *to;
  const Addition* additions;
  const std::int32_t* starts;
  const Delivery* deliveries;
  int values, results, sums, levels, delivered;
  int additions_in_all;
  bool fits;

  std::size_t shared_bytes() const {
    return sizeof(double) * static_cast<std::size_t>(values * sums) +
           sizeof(Addition) * static_cast<std::size_t>(additions_in_all) +
           sizeof(std::int32_t) * static_cast<std::size_t>(levels + 1);
  }

  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    if (!fits) return add_up(team, work, additions, starts);
    const AddUp& self = *this;
    double* const sums_here = team.template shared<double>();
    auto* const additions_here = reinterpret_cast<Addition*>(sums_here + values * sums);
    auto* const starts_here = reinterpret_cast<std::int32_t*>(additions_here + additions_in_all);
    const int step = team.threads();
    team.each([&](int thread) {
      for (int n = thread; n < self.additions_in_all; n += step) additions_here[n] = self.additions[n];
      for (int n = thread; n <= self.levels; n += step) starts_here[n] = self.starts[n];
    });
    add_up(team, sums_here, additions_here, starts_here);
  }

  template <class Team>
  SLIP_FN void add_up(const Team& team, double* at, const Addition* all, const std::int32_t* first_of) const {
    const AddUp& self = *this;
    const int step = team.threads();
    team.each([&](int thread) {
      for (int n = thread; n < self.values * self.sums; n += step) at[n] = self.from[n];
    });
    for (int level = 0; level < levels; ++level)
      team.each([&](int thread) {
        const int first = first_of[level], count = first_of[level + 1] - first;
        for (int n = thread; n < count * self.sums; n += step) {
          const Addition& a = all[first + n % count];
          double* const mine = at + n / count * self.values;
          mine[a.left] += mine[a.right];
        }
      });
    team.each([&](int thread) {
      for (int n = thread; n < self.results * self.sums; n += step) self.to[n] = 0;
    });
    team.each([&](int thread) {
      for (int n = thread; n < self.delivered * self.sums; n += step) {
        const Delivery& d = self.deliveries[n % self.delivered];
        const int sum = n / self.delivered;
        self.to[sum * self.results + d.to] = at[sum * self.values + d.from] + 0.0;  // + 0.0 turns -0 into 0
      }
    });
  }
};

}  // namespace block_sums_kernels

TreeOnDevice::TreeOnDevice(Device device, int values, const Levels& levels, const std::vector<Delivery>& deliveries,
                           int results, int sums)
    : values_(values),
      results_(results),
      sums_(sums),
      levels_(static_cast<int>(levels.size())),
      deliveries_(static_cast<int>(deliveries.size())),
      work_(device, static_cast<std::size_t>(std::max(1, values * sums))) {
  std::vector<Addition> all;
  std::vector<std::int32_t> starts{0};
  for (const auto& level : levels) {
    all.insert(all.end(), level.begin(), level.end());
    starts.push_back(static_cast<std::int32_t>(all.size()));
  }
  additions_ = upload(device, all);
  starts_ = upload(device, starts);
  delivered_ = upload(device, deliveries);
}

void TreeOnDevice::run(Stream& stream, const double* from, double* to) const {
  const int threads = stream.device().backend == Backend::host ? 1 : threads_of_gpu;
  AddUp kernel{from,    work_.data(), to,    additions_.data(), starts_.data(), delivered_.data(),
               values_, results_,     sums_, levels_,           deliveries_,    static_cast<int>(additions_.size()),
               false};
  kernel.fits = kernel.shared_bytes() <= most_shared_bytes;
  launch_teams(stream, 1, threads, kernel.fits ? kernel.shared_bytes() : 0, kernel);
}

}  // namespace slipstream
