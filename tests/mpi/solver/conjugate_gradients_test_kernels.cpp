// Conjugate gradients as a list of tasks. A flag in device memory ends their loop, so the number of iterations per time
// step depends on the residual. The solver contains no code for graphs, overlap or timing.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include <slipstream/block_sums.hpp>
#include <slipstream/launch.hpp>
#include <slipstream/simulation.hpp>

#include "support/dot_of_a_block.hpp"
#include "support/exchange_rig.hpp"

namespace slipstream {
inline namespace conjugate_gradients_test_kernels {

struct Cells {
  View<double> x, r, p, q;
  Extent lo{0, 0, 0}, extent{0, 0, 0};
};

/// Right side b of the n-th linear system A x = b in a cell, a pseudo-random number between -1/2 and 1/2.
SLIP_FN double right_side(std::int64_t i, std::int64_t j, std::int64_t k, std::int32_t n) {
  const auto mixed = static_cast<std::uint32_t>(i * 73856093) ^ static_cast<std::uint32_t>(j * 19349663) ^
                     static_cast<std::uint32_t>(k * 83492791) ^ (static_cast<std::uint32_t>(n) * 2654435761u);
  return static_cast<double>((mixed >> 7) & 1023) / 1024 - 0.5;
}

struct Begin {
  Cells of;
  const std::int32_t* solved;
  SLIP_FN void operator()(int i, int j, int k) const {
    const double b = right_side(of.lo[0] + i, of.lo[1] + j, of.lo[2] + k, *solved);
    of.x.origin[at(of.x, i, j, k)] = 0;
    of.r.origin[at(of.r, i, j, k)] = b;
    of.p.origin[at(of.p, i, j, k)] = b;
  }
};

constexpr double shift = 0.05;

/// Kernel of the operator: q = (shift - Laplacian) p.
struct Apply {
  Cells of;
  SLIP_FN void operator()(int i, int j, int k) const {
    const View<double>& p = of.p;
    const std::int64_t here = at(p, i, j, k);
    double sum = 0;
    for (int a = 0; a < 3; ++a) sum += p.origin[here - p.stride[a]] + p.origin[here + p.stride[a]];
    of.q.origin[at(of.q, i, j, k)] = (6 + shift) * p.origin[here] - sum;
  }
};

enum { old_rr, pq, rr, first_rr, scalars };

/// Updates the solution; does nothing after convergence.
struct Advance {
  Cells of;
  const double* s;
  const std::int32_t* go_on;
  SLIP_FN void operator()(int i, int j, int k) const {
    const double alpha = *go_on != 0 && s[pq] > 0 ? s[old_rr] / s[pq] : 0;
    of.x.origin[at(of.x, i, j, k)] += alpha * of.p.origin[at(of.p, i, j, k)];
    of.r.origin[at(of.r, i, j, k)] -= alpha * of.q.origin[at(of.q, i, j, k)];
  }
};

struct Turn {
  Cells of;
  const double* s;
  SLIP_FN void operator()(int i, int j, int k) const {
    const double beta = s[old_rr] > 0 ? s[rr] / s[old_rr] : 0;
    double& p = of.p.origin[at(of.p, i, j, k)];
    p = of.r.origin[at(of.r, i, j, k)] + beta * p;
  }
};

constexpr double tolerance = 1e-10;

struct Look {
  double* s;
  std::int32_t* go_on;
  bool first;
  SLIP_FN void operator()(int, int, int) const {
    if (first) s[first_rr] = s[rr];
    s[old_rr] = s[rr];
    *go_on = s[rr] > tolerance * tolerance * s[first_rr] ? 1 : 0;
  }
};

struct CountUp {
  std::int32_t* number;
  SLIP_FN void operator()(int, int, int) const { ++*number; }
};

const Box one{{0, 0, 0}, {1, 1, 1}};

/// Solves a system in one step, or starts it in one and finishes in the next. Each system has another right side.
class SystemSolver final : public Simulation {
 public:
  SystemSolver(const Communicator& comm, const Grid& grid, const ExchangeOptions& options, bool alike,
               int steps_a_system)
      : grid_(grid), alike_(alike), steps_a_system_(steps_a_system) {
    for (const char* name : {"x", "r", "p", "q"}) {
      FieldOptions field;
      field.name = name;
      field.type = DType::f64;
      field.ghost = {1, 1, 1};
      field.shared = true;
      fields_.push_back(std::make_unique<Field>(grid, field));
      state_.fields[name] = fields_.back().get();
    }
    exchange_ = std::make_unique<Exchange>(comm, grid, std::vector{ExchangeItem{&halo_, fields_[2].get()}}, options);
    std::vector<std::vector<std::int64_t>> numbers;
    for (const int index : grid.machine().devices_of_rank(comm.rank())) {
      devices_.push_back(grid.machine().device(index).local);
      numbers.emplace_back();
      for (const std::int64_t id : grid.local())
        if (grid.block(id).device == index) numbers.back().push_back(id);
      Stream stream(devices_.back());
      memory_.push_back({{},
                         Buffer<double>(devices_.back(), numbers.back().size() + scalars),
                         Buffer<std::int32_t>(devices_.back(), 2)});
      fill(stream, memory_.back().numbers.data(), 0, memory_.back().numbers.bytes());
      fill(stream, memory_.back().values.data(), 0, memory_.back().values.bytes());
      stream.synchronize();
      for (const std::int64_t id : numbers.back())
        memory_.back().blocks.push_back({fields_[0]->view<double>(id), fields_[1]->view<double>(id),
                                         fields_[2]->view<double>(id), fields_[3]->view<double>(id),
                                         grid.block(id).box.lo, fields_[0]->shape(id).extent});
    }
    sums_ = std::make_unique<BlockSums>(comm, grid.machine(), numbers);
    list_tasks();
  }

  State& state() override { return state_; }
  const std::vector<Device>& devices() const override { return devices_; }
  const Tasks& tasks() const override { return tasks_at(phase()); }
  const Tasks& tasks_at(int phase) const override { return tasks_[static_cast<std::size_t>(phase)]; }
  void finish_step() override { ++state_.step; }
  Recording recording() const override { return {alike_ ? steps_a_system_ : 0, alike_ ? phase() : 0, 0}; }
  const Field& solution() const { return *fields_[0]; }

 private:
  int phase() const { return static_cast<int>(state_.step % steps_a_system_); }
  struct Memory {
    std::vector<Cells> blocks;
    Buffer<double> values;         // scalars of the solver, then the dot product of each block of the grid
    Buffer<std::int32_t> numbers;  // whether to continue iterations; number of solved linear systems
    double* parts() { return values.data() + scalars; }
  };

  template <class Make>
  void each_block(Stream& stream, std::size_t device, Make make) {
    for (const Cells& cells : memory_[device].blocks) launch(stream, {{0, 0, 0}, cells.extent}, make(cells));
  }
  void dots(Stream& stream, std::size_t device, View<double> Cells::*a, View<double> Cells::*b) {
    double* part = memory_[device].parts();
    for (const Cells& cells : memory_[device].blocks)
      launch(stream, one, Dot{cells.*a, cells.*b, cells.extent, part++});
  }
  Task sum(const std::string& name, int into) {
    std::vector<const double*> parts;
    std::vector<double*> results;
    for (Memory& memory : memory_) {
      parts.push_back(memory.parts());
      results.push_back(memory.values.data() + into);
    }
    return sum_task(name, *sums_, parts, results);
  }

  void list_tasks() {
    Loop loop;
    loop.most = 500;
    loop.look_every = 3;
    for (Memory& memory : memory_) loop.go_on.push_back(memory.numbers.data());
    loop.tasks = {exchange_task("exchange p", *exchange_),
                  split_kernel_task("q = A p",
                                    [this](Stream& stream, std::size_t d, Part part) {
                                      for (const Cells& cells : memory_[d].blocks) {
                                        const Box all{{0, 0, 0}, cells.extent};
                                        const InteriorAndBoundary split = split_boundary(all, {{1, 1, 1}, {1, 1, 1}});
                                        if (part == Part::all) launch(stream, all, Apply{cells});
                                        if (part == Part::interior) launch(stream, split.interior, Apply{cells});
                                        if (part == Part::boundary)
                                          for (const Box& box : split.boundary) launch(stream, box, Apply{cells});
                                      }
                                    }),
                  kernel_task("parts of p.q",
                              [this](Stream& stream, std::size_t d, Part) { dots(stream, d, &Cells::p, &Cells::q); }),
                  sum("p.q", pq),
                  kernel_task("x and r",
                              [this](Stream& stream, std::size_t d, Part) {
                                each_block(stream, d, [&](const Cells& cells) {
                                  return Advance{cells, memory_[d].values.data(), memory_[d].numbers.data()};
                                });
                                dots(stream, d, &Cells::r, &Cells::r);
                              }),
                  sum("r.r", rr),
                  kernel_task("p", [this](Stream& stream, std::size_t d, Part) {
                    each_block(stream, d, [&](const Cells& cells) { return Turn{cells, memory_[d].values.data()}; });
                    launch(stream, one, Look{memory_[d].values.data(), memory_[d].numbers.data(), false});
                  })};
    Tasks begin{kernel_task("begin",
                            [this](Stream& stream, std::size_t d, Part) {
                              const std::int32_t* solved = memory_[d].numbers.data() + 1;
                              each_block(stream, d, [&](const Cells& cells) { return Begin{cells, solved}; });
                              dots(stream, d, &Cells::r, &Cells::r);
                            }),
                sum("b.b", rr), kernel_task("first", [this](Stream& stream, std::size_t d, Part) {
                  launch(stream, one, Look{memory_[d].values.data(), memory_[d].numbers.data(), true});
                })};
    Tasks solve{loop_task("iterations", std::move(loop)),
                kernel_task("count", [this](Stream& stream, std::size_t d, Part) {
                  launch(stream, one, CountUp{memory_[d].numbers.data() + 1});
                })};
    if (steps_a_system_ == 1) begin.insert(begin.end(), solve.begin(), solve.end());
    tasks_ = {std::move(begin), std::move(solve)};
  }

  const Grid& grid_;
  const bool alike_;
  const int steps_a_system_;
  const Halo halo_{{.reach = Reach::faces, .components = {}}};
  std::vector<std::unique_ptr<Field>> fields_;
  std::unique_ptr<Exchange> exchange_;
  std::unique_ptr<BlockSums> sums_;
  std::vector<Device> devices_;
  std::vector<Memory> memory_;
  std::vector<Tasks> tasks_;  // tasks by time step: the test runs a linear solve in one time step or splits it in two
  State state_;
};

class ConjugateGradients : public testing::TestWithParam<std::tuple<Backend, std::size_t>> {
 protected:
  static constexpr Extent extent{14, 9, 8};
  static inline const std::vector<Way> ways = all_ways();
  Backend backend = std::get<0>(GetParam());
  const Way& way = ways[std::get<1>(GetParam())];
  Communicator comm = Communicator::world();
  std::optional<Grid> grid;
  ExchangeOptions options;

  std::string lay_out() {
    if (auto missing = unavailable(backend, way); !missing.empty()) return missing;
    GridOptions chosen;
    chosen.periodic = {true, true, true};
    chosen.partition.blocks_per_device = {2, 1, 1};
    grid.emplace(extent, machine_here(backend, way), comm.rank(), chosen);
    options.routes = way.routes;
    options.knobs.grouping = way.grouping;
    FieldOptions field;
    field.type = DType::f64;
    field.ghost = {1, 1, 1};
    field.shared = true;
    const Halo halo{{.reach = Reach::faces, .components = {}}};
    return refusal_of(*grid, {{&halo, field}}, options);
  }

  /// Solves `systems` linear systems in turn by conjugate gradients. Returns the last one's solution on all ranks.
  std::vector<double> solve(int systems, Overlap overlap, bool alike, int steps_a_system = 1) {
    SystemSolver solver(comm, *grid, options, alike, steps_a_system);
    TimeLoop loop(solver, overlap);
    loop.run((systems - 1) * steps_a_system);
    loop.run(steps_a_system);
    EXPECT_EQ(solver.state().step, systems * steps_a_system);
    std::vector<double> values(static_cast<std::size_t>(volume(extent)), 0.0);
    solver.solution().read({{0, 0, 0}, extent}, values.data());
    std::string mine(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double));
    std::vector<double> all(values.size(), 0.0);
    for (const std::string& text : comm.all_gather(mine)) {
      const auto* theirs = reinterpret_cast<const double*>(text.data());
      for (std::size_t n = 0; n < all.size(); ++n)
        if (theirs[n] != 0) all[n] = theirs[n];
    }
    return all;
  }

  static double largest_residual(const std::vector<double>& x, int system) {
    const auto value = [&](std::int64_t i, std::int64_t j, std::int64_t k) {
      const std::int64_t e[3] = {extent[0], extent[1], extent[2]};
      return x[static_cast<std::size_t>(((k + e[2]) % e[2] * e[1] + (j + e[1]) % e[1]) * e[0] + (i + e[0]) % e[0])];
    };
    double largest = 0;
    for (std::int64_t k = 0; k < extent[2]; ++k)
      for (std::int64_t j = 0; j < extent[1]; ++j)
        for (std::int64_t i = 0; i < extent[0]; ++i) {
          const double around = value(i - 1, j, k) + value(i + 1, j, k) + value(i, j - 1, k) + value(i, j + 1, k) +
                                value(i, j, k - 1) + value(i, j, k + 1);
          const double off = right_side(i, j, k, system) - ((6 + shift) * value(i, j, k) - around);
          largest = std::max(largest, std::abs(off));
        }
    return largest;
  }
};

TEST_P(ConjugateGradients, SolveEachSystemInAsManyPassesAsItNeeds) {
  if (const std::string why = lay_out(); !why.empty()) GTEST_SKIP() << why;
  const std::vector<double> queued = solve(3, Overlap::off, false);
  EXPECT_LT(largest_residual(queued, 2), 1e-7);
  EXPECT_GT(largest_residual(queued, 1), 1e-2) << "the systems are one and the same";
  EXPECT_EQ(solve(3, Overlap::off, true), queued) << "recorded steps give other bits";
  EXPECT_EQ(solve(3, Overlap::on, true), queued) << "overlap gives other bits";
  EXPECT_EQ(solve(3, Overlap::on, false), queued) << "overlap without a graph gives other bits";
  EXPECT_EQ(solve(3, Overlap::off, true, 2), queued) << "a loop in one of two recorded steps gives other bits";
}

INSTANTIATE_TEST_SUITE_P(Routes, ConjugateGradients,
                         testing::Combine(testing::ValuesIn(backends_here()),
                                          testing::Range<std::size_t>(0, all_ways().size())),
                         [](const auto& info) { return name_of(std::get<0>(info.param), std::get<1>(info.param)); });

}  // namespace conjugate_gradients_test_kernels
}  // namespace slipstream
