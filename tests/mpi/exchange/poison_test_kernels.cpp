// Poisoned exchanges (ExchangeOptions::poison): same bits, NaN in ghosts before end(), and detection of kernels that
// omit a value.
#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include <slipstream/launch.hpp>
#include <slipstream/transpose.hpp>

#include "support/exchange_rig.hpp"
#include "support/expect_error.hpp"

namespace slipstream {
inline namespace poison_test_kernels {

constexpr std::array<std::array<int, 3>, 3> permutations{{{2, 1, 0}, {0, 1, 2}, {1, 2, 0}}};

/// A kernel that stores 1 + the cell's number, except for one cell.
struct Forgetful {
  Windows<double> out;
  int block;
  std::int64_t lo[3], forgotten[3];
  SLIP_FN void operator()(int i, int j, int k) const {
    const std::int64_t x = lo[0] + i, y = lo[1] + j, z = lo[2] + k;
    if (x == forgotten[0] && y == forgotten[1] && z == forgotten[2]) return;
    out.store(block, 0, i, j, k, 1.0 + static_cast<double>(x + 16 * (y + 16 * z)));
  }
};

class Poisoned : public testing::TestWithParam<std::tuple<Backend, std::size_t>> {
 protected:
  const Way way = all_ways()[std::get<1>(GetParam())];
  Communicator comm = Communicator::world();
  std::optional<Machine> machine;

  void SetUp() override {
    if (const auto why = unavailable(std::get<0>(GetParam()), way); !why.empty()) GTEST_SKIP() << why;
    machine.emplace(machine_here(std::get<0>(GetParam()), way));
  }
  ExchangeOptions options(bool poison = true) const {
    ExchangeOptions options;
    options.routes = way.routes;
    options.knobs.grouping = way.grouping;
    options.wait_limit = 20;
    options.poison = poison;
    return options;
  }
  static FieldOptions values(const char* name, const Extent& ghost) {
    FieldOptions options;
    options.name = name;
    options.type = DType::f64;
    options.ghost = ghost;
    options.shared = true;
    return options;
  }
};

bool inside(const Extent& p, const Extent& cells) {
  for (std::size_t a = 0; a < 3; ++a)
    if (p[a] < 0 || p[a] >= cells[a]) return false;
  return true;
}

TEST_P(Poisoned, GhostsHoldNoNumberBeforeTheEndAndTheSameBitsBehindIt) {
  GridOptions periodic;
  periodic.periodic = {true, true, true};
  const Grid grid({12, 10, 9}, *machine, comm.rank(), periodic);
  const Halo halo(Halo::Options{});
  const FieldOptions of_u = values("u", {1, 1, 1});
  if (const auto why = refusal_of(grid, {{&halo, of_u}}, options()); !why.empty()) GTEST_SKIP() << why;
  Field u(grid, of_u), clean(grid, of_u);
  std::vector<Stream> streams = streams_of(grid);
  Exchange poisoned(comm, grid, {{&halo, &u}}, options()), plain(comm, grid, {{&halo, &clean}}, options(false));
  for (int round = 0; round < 5; ++round) {
    for (const std::int64_t id : grid.local()) {
      std::vector<double> all(static_cast<std::size_t>(u.shape(id).elements), -3);
      for (std::size_t n = 0; n < all.size(); ++n)
        all[n] = fraction(scrambled(static_cast<std::uint64_t>(id), n, static_cast<std::uint64_t>(round)));
      set_array(u, id, all);
      set_array(clean, id, all);
    }
    comm.barrier();
    exchange_once(plain, streams, round);
    if (round % 2) {
      poisoned.run(streams);
    } else {
      poisoned.begin(streams);
      finish(streams);
      for (const std::int64_t id : grid.local()) {
        const Extent cells = grid.block(id).box.extents();
        const auto early = array_of<double>(u, id), right = array_of<double>(clean, id);
        each_in(u.shape(id), everything(cells, of_u), [&](const Extent& p, int, std::int64_t at) {
          if (HasFatalFailure()) return;
          const auto n = static_cast<std::size_t>(at);
          if (inside(p, cells)) {
            ASSERT_EQ(early[n], right[n]) << to_string(p);
          } else {
            ASSERT_TRUE(std::isnan(early[n])) << "ghost " << to_string(p) << " of block " << id << " is " << early[n];
          }
        });
      }
      poisoned.end(streams);
    }
    finish(streams);
    poisoned.check();
    for (const std::int64_t id : grid.local())
      ASSERT_TRUE(array_of<std::byte>(u, id) == array_of<std::byte>(clean, id))
          << "block " << id << ", round " << round;
    comm.barrier();
  }
}

/// Kernels of which one omits a cell. None omits one if `forgotten` is outside of the grid.
struct Producing {
  Producing(const Machine& machine, int rank, const std::array<int, 3>& axes, const FieldOptions& of_from,
            const FieldOptions& of_to)
      : source({12, 9, 10}, machine, rank),
        target(turned(axes), machine, rank),
        transpose(source, target, {.axes = axes, .kept = {}}),
        from(source, of_from),
        to(target, of_to),
        streams(streams_of(source)) {}
  static Extent turned(const std::array<int, 3>& axes) {
    const Extent cells{12, 9, 10};
    Extent there{};
    for (std::size_t a = 0; a < 3; ++a) there[static_cast<std::size_t>(axes[a])] = cells[a];
    return there;
  }
  void produce(Exchange& exchange, const Extent& forgotten) {
    exchange.open(streams);
    for (std::size_t b = 0; b < source.local().size(); ++b) {
      const std::int64_t id = source.local()[b];
      const Box& box = source.block(id).box;
      const auto stream =
          std::find_if(streams.begin(), streams.end(), [&](const Stream& s) { return s.device() == from.device(id); });
      launch(*stream, {{0, 0, 0}, box.extents()},
             Forgetful{exchange.windows<double>(0, from.device(id)),
                       static_cast<int>(b),
                       {box.lo[0], box.lo[1], box.lo[2]},
                       {forgotten[0], forgotten[1], forgotten[2]}});
    }
    exchange.post(streams);
    exchange.end(streams);
    finish(streams);
    exchange.check();
  }

  Grid source, target;
  Transpose transpose;
  Field from, to;
  std::vector<Stream> streams;
};

TEST_P(Poisoned, AKernelThatForgetsAValueIsNamedOnAllRanks) {
  for (const auto& axes : permutations) {
    FieldOptions of_from = values("from", {0, 0, 0}), of_to = values("to", {1, 0, 0});
    of_from.later = true;
    Producing p(*machine, comm.rank(), axes, of_from, of_to);
    if (const auto why = refusal_of(p.source, {{&p.transpose, of_from, of_to}}, options()); !why.empty())
      GTEST_SKIP() << why;
    Exchange exchange(comm, p.source, {{.pattern = &p.transpose, .source = &p.from, .target = &p.to, .produced = true}},
                      options());
    EXPECT_FALSE(exchange.capturable());
    const auto back = Transpose::inverse(axes);
    for (int round = 0; round < 3; ++round) {
      p.produce(exchange, {-1, -1, -1});
      for (const std::int64_t id : p.target.local()) {
        const Box& box = p.target.block(id).box;
        each_in(p.to.shape(id), {{{0, 0, 0}, box.extents()}, {0}, nullptr},
                [&, got = array_of<double>(p.to, id)](const Extent& q, int, std::int64_t at) {
                  Extent cell{};
                  for (std::size_t a = 0; a < 3; ++a) {
                    const auto there = static_cast<std::size_t>(back[a]);
                    cell[there] = q[a] + box.lo[a];
                  }
                  ASSERT_EQ(got[static_cast<std::size_t>(at)],
                            1.0 + static_cast<double>(cell[0] + 16 * (cell[1] + 16 * cell[2])))
                      << to_string(q);
                });
      }
      comm.barrier();
    }
    const Extent forgotten{11, 8, 9};
    const auto owner = std::find_if(p.source.blocks().begin(), p.source.blocks().end(),
                                    [&](const Block& block) { return block.box.contains(forgotten); });
    std::string local;
    for (std::size_t a = 0; a < 3; ++a) local += (a ? ", " : "") + std::to_string(forgotten[a] - owner->box.lo[a]);
    const auto wrong = [&] { p.produce(exchange, forgotten); };
    EXPECT_THROW(wrong(), Unwritten);
    // The next call reports the error again, because the exchange is unusable.
    expect_error([&] { exchange.open(p.streams); }, ErrorCode::wrong_state,
                 {{"values", 1},
                  {"rank", machine->device(owner->device).rank},
                  {"item", 0},
                  {"field", "from"},
                  {"component", 0},
                  {"cell", "(" + local + ")"},
                  {"block", owner->id}});
    comm.barrier();
  }
}

INSTANTIATE_TEST_SUITE_P(Routes, Poisoned,
                         testing::Combine(testing::ValuesIn(backends_here()),
                                          testing::Range<std::size_t>(0, all_ways().size())),
                         [](const auto& info) { return name_of(std::get<0>(info.param), std::get<1>(info.param)); });

}  // namespace poison_test_kernels
}  // namespace slipstream
