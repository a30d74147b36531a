// In-place transposes give the results of out-of-place ones for any distribution, and do not move data that stays.
#include <gtest/gtest.h>

#include <optional>

#include <slipstream/transpose.hpp>
#include <slipstream/tuner.hpp>

#include "mpi/exchange/permutations.hpp"
#include "support/exchange_rig.hpp"

namespace slipstream {
namespace {

std::int64_t value(const Extent& cell, int round) {
  return ((cell[2] * 131 + cell[1]) * 37 + cell[0] * 5 + round * 71) % 239;
}

/// Memory that is the only block of a device in two decompositions.
struct Shared {
  Shared(const Grid& source, const Grid& target, DType type, bool apart)
      : source(source), target(target), size(size_of(type)), apart(apart) {
    for (const int device : source.machine().devices_of_rank(source.rank())) {
      std::int64_t cells = 1;
      for (const Grid* grid : {&source, &target})
        for (const std::int64_t id : grid->local())
          if (grid->block(id).device == device) cells = std::max(cells, grid->block(id).box.volume());
      for (int n = 0; n < 2; ++n)
        memory[device].emplace_back(source.machine().device(device).local, static_cast<std::size_t>(cells) * size,
                                    Memory::shared);
    }
  }
  /// One array per block of the grid, without padding.
  std::vector<OwnArray> arrays(const Grid& grid) {
    std::vector<OwnArray> all;
    const bool second = apart && &grid == &target;
    for (const std::int64_t id : grid.local()) {
      const Extent n = grid.block(id).box.extents();
      all.push_back(
          {memory.at(grid.block(id).device).at(second ? 1 : 0).data(), {1, n[0], n[0] * n[1]}, n[0] * n[1] * n[2]});
    }
    return all;
  }

  const Grid &source, &target;
  std::size_t size;
  bool apart;
  std::map<int, std::vector<Buffer<std::byte>>> memory;
};

/// One block per device, cut along one axis at random places.
std::vector<Block> random_slabs(const Extent& cells, int devices, std::mt19937& random) {
  const auto axis = static_cast<std::size_t>(random() % 3);
  std::vector<std::int64_t> cuts{0, cells[axis]};
  while (static_cast<int>(cuts.size()) <= std::min<std::int64_t>(devices, cells[axis])) {
    const auto cut = static_cast<std::int64_t>(random() % static_cast<unsigned>(cells[axis]));
    if (std::find(cuts.begin(), cuts.end(), cut) == cuts.end()) cuts.push_back(cut);
  }
  std::sort(cuts.begin(), cuts.end());
  std::vector<Block> blocks;
  for (std::size_t n = 1; n < cuts.size(); ++n) {
    Block block;
    block.box = {{0, 0, 0}, cells};
    block.box.lo[axis] = cuts[n - 1];
    block.box.hi[axis] = cuts[n];
    block.device = static_cast<int>(n) - 1;
    blocks.push_back(block);
  }
  return blocks;
}

class OntoItself : public testing::TestWithParam<std::tuple<Backend, std::size_t>> {
 protected:
  const Way way = all_ways()[std::get<1>(GetParam())];
  Communicator comm = Communicator::world();
  std::optional<Machine> machine;
  void SetUp() override {
    if (const auto why = unavailable(std::get<0>(GetParam()), way); !why.empty()) GTEST_SKIP() << why;
    machine.emplace(machine_here(std::get<0>(GetParam()), way));
  }
  ExchangeOptions options() const {
    ExchangeOptions options;
    options.routes = way.routes;
    options.knobs.grouping = way.grouping;
    options.wait_limit = 20;
    return options;
  }
};

/// Target values by block after a transpose in place or out of place.
std::vector<std::vector<std::byte>> moved(const Communicator& comm, const Grid& source, const Grid& target,
                                          const Transpose& transpose, DType type, bool apart,
                                          const ExchangeOptions& options, int round) {
  Shared memory(source, target, type, apart);
  const FieldOptions of{.name = "u", .type = type};
  Field from = Field::adopt(comm, source, of, memory.arrays(source));
  Field to = Field::adopt(comm, target, of, memory.arrays(target));
  for (const std::int64_t id : source.local()) {
    const Block& block = source.block(id);
    std::vector<std::byte> bytes(static_cast<std::size_t>(from.shape(id).elements) * size_of(type));
    each_in(from.shape(id), {{{0, 0, 0}, block.box.extents()}, {0}, nullptr},
            [&](const Extent& p, int, std::int64_t at) {
              store(type, bytes.data(), at,
                    value({p[0] + block.box.lo[0], p[1] + block.box.lo[1], p[2] + block.box.lo[2]}, round));
            });
    set_array(from, id, bytes);
  }
  comm.barrier();
  std::vector<Stream> streams = streams_of(source);
  Exchange exchange(comm, source, {{&transpose, &from, &to}}, options);
  exchange_once(exchange, streams, round);
  std::vector<std::vector<std::byte>> all;
  for (const std::int64_t id : target.local()) all.push_back(array_of<std::byte>(to, id));
  comm.barrier();
  return all;
}

TEST_P(OntoItself, ArraysHoldWhatOthersWould) {
  constexpr DType types[] = {DType::f64, DType::c64, DType::u8, DType::f32};
  for (unsigned seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const Axes& axes = permutations[seed % 6];
    const Extent cells = seed < 6 ? Extent{30, 31, 37} : Extent{16, 16, 16};
    Extent there{};
    for (std::size_t a = 0; a < 3; ++a) there[static_cast<std::size_t>(axes[a])] = cells[a];
    GridOptions of_source, of_target;
    of_source.boxes = random_slabs(cells, machine->devices(), random);
    of_target.boxes = random_slabs(there, machine->devices(), random);
    const Grid source(cells, *machine, comm.rank(), of_source), target(there, *machine, comm.rank(), of_target);
    const Transpose transpose(source, target, {.axes = axes, .kept = {}});
    const DType type = types[seed % 4];
    const FieldOptions of{.name = "u", .type = type, .shared = true, .adopted = true};
    if (const auto why = refusal_of(source, {{&transpose, of, of}}, options()); !why.empty()) GTEST_SKIP() << why;
    for (int round = 0; round < 2; ++round)
      ASSERT_EQ(moved(comm, source, target, transpose, type, false, options(), round),
                moved(comm, source, target, transpose, type, true, options(), round));
  }
}

/// A device keeps some of its slab, and no message contains that part.
TEST_P(OntoItself, WhatRestsIsNotMoved) {
  const int devices = machine->devices();
  const Extent cells{6, 5, 8 * devices};
  GridOptions ends;
  for (int n = 0; n < devices; ++n) {
    Block block;
    block.box = {{0, 0, 8 * n}, {6, 5, 8 * n + 8}};
    block.device = n;
    ends.boxes.push_back(block);
  }
  GridOptions turned = ends;
  // All devices but 0 pass their blocks to another device, if there are at least three.
  for (int n = 1; n < devices; ++n) turned.boxes[static_cast<std::size_t>(n)].device = n % (devices - 1) + 1;
  const Grid source(cells, *machine, comm.rank(), ends), target(cells, *machine, comm.rank(), turned);
  const Transpose transpose(source, target);
  Shared memory(source, target, DType::f64, false);
  const FieldOptions of{.name = "u", .type = DType::f64};
  Field from = Field::adopt(comm, source, of, memory.arrays(source));
  Field to = Field::adopt(comm, target, of, memory.arrays(target));
  if (const auto why = refusal_of(source, {{&transpose, from.options(), to.options()}}, options()); !why.empty())
    GTEST_SKIP() << why;
  Exchange exchange(comm, source, {{&transpose, &from, &to}}, options());
  std::vector<Stream> streams = streams_of(source);
  exchange_once(exchange, streams, 0);
  exchange_once(exchange, streams, 1);
  const std::vector<ReportRow> rows = exchange.report();
  for (const ReportRow& row : rows) {
    EXPECT_NE(row.message.source, row.message.target);
    EXPECT_EQ(row.message.bytes, 6 * 5 * 8 * 8);
  }
  EXPECT_EQ(rows.size(), static_cast<std::size_t>(devices > 2 ? devices - 1 : 0));
  comm.barrier();
}

/// Timed trials of an in-place transpose would modify its array, so rules choose the routes without measurement.
TEST_P(OntoItself, MeasuringRoutesWouldChangeIt) {
  const Extent cells{8, 8, 8};
  const Grid grid(cells, *machine, comm.rank());
  const Transpose transpose(grid, grid, {.axes = {2, 1, 0}, .kept = {}});
  Field u(grid, {.name = "u", .type = DType::f64, .shared = true});
  const Tuning tuning = tune(comm, grid, {{&transpose, &u}}, options(), {});
  EXPECT_EQ(tuning.source, "rules");
  const auto& notes = tuning.notes;
  EXPECT_TRUE(std::any_of(notes.begin(), notes.end(),
                          [](const std::string& note) { return note.find("moved onto itself") != std::string::npos; }));
}

INSTANTIATE_TEST_SUITE_P(Routes, OntoItself,
                         testing::Combine(testing::ValuesIn(backends_here()),
                                          testing::Range<std::size_t>(0, all_ways().size())),
                         [](const auto& info) { return name_of(std::get<0>(info.param), std::get<1>(info.param)); });

}  // namespace
}  // namespace slipstream
