#include "exchange/block_sums_kernels.hpp"

#include <slipstream/launch.hpp>

#include "device/upload.hpp"

namespace slipstream {
namespace {

constexpr int threads_of_gpu = 512;

/// By one team: levels follow one another.
struct AddUp {
  const double* from;
  double *work, *to;
  const Addition* additions;
  const std::int32_t* starts;
  const Delivery* deliveries;
  int values, results, sums, levels, delivered;

  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    const AddUp& self = *this;
    const int step = team.threads();
    team.each([&](int thread) {
      for (int n = thread; n < self.values * self.sums; n += step) self.work[n] = self.from[n];
    });
    for (int level = 0; level < levels; ++level)
      team.each([&](int thread) {
        const int first = self.starts[level], count = self.starts[level + 1] - first;
        for (int n = thread; n < count * self.sums; n += step) {
          const Addition& a = self.additions[first + n % count];
          double* const mine = self.work + n / count * self.values;
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
        self.to[sum * self.results + d.to] = self.work[sum * self.values + d.from] + 0.0;  // no -0
      }
    });
  }
};

}  // namespace

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
  launch_teams(stream, 1, threads, 0,
               AddUp{from, work_.data(), to, additions_.data(), starts_.data(), delivered_.data(), values_, results_,
                     sums_, levels_, deliveries_});
}

}  // namespace slipstream
