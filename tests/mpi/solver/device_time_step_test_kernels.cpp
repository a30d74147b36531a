// Adaptive time steps on the devices as a list of tasks: a sum over all blocks, the time step from it, and the update.
// The host never reads the numbers.
#include <gtest/gtest.h>

#include <cmath>

#include <slipstream/block_sums.hpp>
#include <slipstream/launch.hpp>
#include <slipstream/simulation.hpp>

#include "support/dot_of_a_block.hpp"
#include "support/machine_rig.hpp"

namespace slipstream {
inline namespace device_time_step_test_kernels {

/// Time step of the test, from the mean square of the cells' values: larger values give a shorter step.
SLIP_FN double time_step_for(double mean_square) { return 0.1 / (1 + mean_square); }

SLIP_FN double start(std::int64_t i, std::int64_t j, std::int64_t k) {
  return static_cast<double>((i * 7 + j * 13 + k * 29) % 17) / 4;
}

enum { sum_of_squares, time_step, time, numbers };

struct Choose {
  double* of;
  double cells;
  SLIP_FN void operator()(int, int, int) const {
    of[time_step] = time_step_for(of[sum_of_squares] / cells);
    of[time] += of[time_step];
  }
};

/// Kernel of one step of the heat equation du/dt = Lap u.
struct Spread {
  View<double> from, to;
  const double* of;
  SLIP_FN void operator()(int i, int j, int k) const {
    const double* const u = from.origin + at(from, i, j, k);
    double around = 0;
    for (int a = 0; a < 3; ++a) around += u[-from.stride[a]] + u[from.stride[a]];
    to.origin[u - from.origin] = *u + of[time_step] * (around - 6 * *u);
  }
};

class Spreading final : public Simulation {
 public:
  Spreading(const Communicator& comm, const Grid& grid, bool alike)
      : grid_(grid), alike_(alike), u_(grid, options(comm)), exchange_(comm, grid, {ExchangeItem{&halo_, &u_}}, {}) {
    std::vector<std::vector<std::int64_t>> ids;
    for (const int index : grid.machine().devices_of_rank(comm.rank())) {
      devices_.push_back(grid.machine().device(index).local);
      ids.emplace_back();
      for (const std::int64_t id : grid.local())
        if (grid.block(id).device == index) ids.back().push_back(id);
      values_.emplace_back(devices_.back(), ids.back().size() + numbers);
      Stream stream(devices_.back());
      fill(stream, values_.back().data(), 0, values_.back().bytes());
      stream.synchronize();
    }
    for (const std::int64_t id : grid.local()) {
      const Box& box = grid.block(id).box;
      std::vector<double> values;
      for (std::int64_t k = box.lo[2]; k < box.hi[2]; ++k)
        for (std::int64_t j = box.lo[1]; j < box.hi[1]; ++j)
          for (std::int64_t i = box.lo[0]; i < box.hi[0]; ++i) values.push_back(start(i, j, k));
      u_.write(box, values.data());
    }
    sums_.emplace(comm, grid.machine(), ids);
    list_tasks(ids);
    state_.fields["u"] = &u_;
  }

  State& state() override { return state_; }
  const std::vector<Device>& devices() const override { return devices_; }
  const Tasks& tasks() const override { return tasks_; }
  void finish_step() override {
    u_.swap();
    ++state_.step;
  }
  Recording recording() const override { return {alike_ ? 2 : 0, alike_ ? u_.physical(0) : 0, 0}; }

  const Field& u() const { return u_; }
  /// Simulated time that each device has reached, by its own time steps.
  std::vector<double> times() {
    std::vector<double> found;
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      Stream stream(devices_[d]);
      copy(stream, &found.emplace_back(), values_[d].data() + time, sizeof(double));
      stream.synchronize();
    }
    return found;
  }

 private:
  static FieldOptions options(const Communicator& comm) {
    FieldOptions field;
    field.name = "u";
    field.type = DType::f64;
    field.ghost = {1, 1, 1};
    field.copies = 2;
    field.shared = comm.size() > 1;
    return field;
  }

  void list_tasks(const std::vector<std::vector<std::int64_t>>& ids) {
    const Box one{{0, 0, 0}, {1, 1, 1}};
    const auto cells = static_cast<double>(volume(grid_.extent()));
    std::vector<const double*> parts;
    std::vector<double*> sums;
    for (Buffer<double>& values : values_) {
      parts.push_back(values.data() + numbers);
      sums.push_back(values.data() + sum_of_squares);
    }
    const auto squares = [this, ids, one](Stream& stream, std::size_t d, Part) {
      double* part = values_[d].data() + numbers;
      for (const std::int64_t id : ids[d])
        launch(stream, one, Dot{u_.view<double>(id), u_.view<double>(id), u_.shape(id).extent, part++});
    };
    const auto choose = [this, one, cells](Stream& stream, std::size_t d, Part) {
      launch(stream, one, Choose{values_[d].data(), cells});
    };
    const auto spread = [this, ids](Stream& stream, std::size_t d, Part part) {
      for (const std::int64_t id : ids[d]) {
        const Spread update{u_.view<double>(id), u_.view<double>(id, 1), values_[d].data()};
        const Box all{{0, 0, 0}, u_.shape(id).extent};
        const InteriorAndBoundary split = split_boundary(all, {{1, 1, 1}, {1, 1, 1}});
        if (part == Part::all) launch(stream, all, update);
        if (part == Part::interior) launch(stream, split.interior, update);
        if (part == Part::boundary)
          for (const Box& box : split.boundary) launch(stream, box, update);
      }
    };
    tasks_ = {kernel_task("squares", squares), sum_task("sum of squares", *sums_, parts, sums),
              kernel_task("time step", choose), exchange_task("exchange", exchange_),
              split_kernel_task("spread", spread)};
  }

  const Grid& grid_;
  const bool alike_;
  const Halo halo_{{.reach = Reach::faces, .components = {}}};
  Field u_;
  Exchange exchange_;
  std::optional<BlockSums> sums_;
  std::vector<Device> devices_;
  std::vector<Buffer<double>> values_;  // on each device: scalars such as the time, then a sum per block of cells
  Tasks tasks_;
  State state_;
};

class DeviceTimeStep : public testing::TestWithParam<Backend> {
 protected:
  static constexpr Extent extent{12, 9, 8};
  static constexpr int steps = 11;

  /// Expected temperature after all steps, by one loop over one array, and the simulated time reached.
  static std::pair<std::vector<double>, double> by_hand() {
    const auto at = [](std::int64_t i, std::int64_t j, std::int64_t k) {
      return static_cast<std::size_t>(((k + extent[2]) % extent[2] * extent[1] + (j + extent[1]) % extent[1]) *
                                          extent[0] +
                                      (i + extent[0]) % extent[0]);
    };
    std::vector<double> u(static_cast<std::size_t>(volume(extent)));
    const auto each = [&](const auto& work) {
      for (std::int64_t k = 0; k < extent[2]; ++k)
        for (std::int64_t j = 0; j < extent[1]; ++j)
          for (std::int64_t i = 0; i < extent[0]; ++i) work(i, j, k);
    };
    each([&](auto i, auto j, auto k) { u[at(i, j, k)] = start(i, j, k); });
    double now = 0;
    for (int step = 0; step < steps; ++step) {
      double sum = 0;
      for (const double value : u) sum += value * value;
      const double dt = time_step_for(sum / static_cast<double>(u.size()));
      now += dt;
      std::vector<double> next = u;
      each([&](auto i, auto j, auto k) {
        const double around = u[at(i - 1, j, k)] + u[at(i + 1, j, k)] + u[at(i, j - 1, k)] + u[at(i, j + 1, k)] +
                              u[at(i, j, k - 1)] + u[at(i, j, k + 1)];
        next[at(i, j, k)] += dt * (around - 6 * u[at(i, j, k)]);
      });
      u = next;
    }
    return {u, now};
  }
};

TEST_P(DeviceTimeStep, FollowsTheStateOnAllDevicesAlike) {
  const Communicator comm = Communicator::world();
  const auto [wanted, wanted_time] = by_hand();
  EXPECT_GT(wanted_time, 1.2 * steps * time_step_for(8)) << "the time step stays what it was";
  for (const int devices : {1, 2}) {
    if (!unavailable(GetParam(), devices).empty()) continue;
    GridOptions chosen;
    chosen.periodic = {true, true, true};
    chosen.partition.blocks_per_device = {2, 1, 1};
    const Grid grid(extent, machine_here(GetParam(), devices), comm.rank(), chosen);
    std::optional<std::vector<double>> first;
    for (const bool alike : {false, true})
      for (const Overlap overlap : {Overlap::off, Overlap::on}) {
        Spreading run(comm, grid, alike);
        TimeLoop loop(run, overlap);
        loop.run(steps - 3);
        loop.run(3);
        for (const double time : run.times()) EXPECT_NEAR(time, wanted_time, 1e-13);
        std::vector<double> found(wanted.size(), 0.0);
        double off = 0;
        for (const std::int64_t id : grid.local()) {
          const Box& box = grid.block(id).box;
          std::vector<double> values(static_cast<std::size_t>(box.volume()));
          run.u().read(box, values.data());
          std::size_t n = 0;
          for (std::int64_t k = box.lo[2]; k < box.hi[2]; ++k)
            for (std::int64_t j = box.lo[1]; j < box.hi[1]; ++j)
              for (std::int64_t i = box.lo[0]; i < box.hi[0]; ++i, ++n) {
                const auto here = static_cast<std::size_t>((k * extent[1] + j) * extent[0] + i);
                found[here] = values[n];
                off = std::max(off, std::abs(values[n] - wanted[here]));
              }
        }
        EXPECT_LT(off, 1e-12) << devices << " devices";
        if (!first) first = found;
        EXPECT_EQ(found, *first) << devices << " devices, recorded " << alike;
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, DeviceTimeStep, testing::ValuesIn(backends_here()),
                         [](const auto& info) { return to_string(info.param); });

}  // namespace device_time_step_test_kernels
}  // namespace slipstream
