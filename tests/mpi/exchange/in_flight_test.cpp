// Two exchanges in flight, begun and ended in interleaved order, on every pair of routes. Ranks have different
// neighbours in both.
#include <gtest/gtest.h>

#include <optional>

#include <slipstream/transpose.hpp>

#include "support/exchange_rig.hpp"

namespace slipstream {
namespace {

/// Lists sets of exchange routes to test, with 1 and 2 devices per rank. Each includes `kernel`, copies in a device.
std::vector<Way> ways_in_flight() {
  std::vector<Way> found;
  for (const Way& way : all_ways())
    if (way.name != "staged_alone" && way.ranks_per_node == 0) found.push_back(way);
  return found;
}

class InFlight : public testing::TestWithParam<std::tuple<Backend, std::size_t, std::size_t>> {
 protected:
  static constexpr Extent cells{12, 18, 26};

  static double value(const Extent& p, int round) {
    return fraction(scrambled(static_cast<std::uint64_t>(p[0] + 100 * p[1]), static_cast<std::uint64_t>(p[2]),
                              static_cast<std::uint64_t>(round)));
  }
  /// Expected array of a block: values of global cells in the interior, and in ghosts -1 or (with `ghosts`) these, too.
  static std::vector<double> array(const Field& field, std::int64_t id, int round, bool inside_too, bool ghosts) {
    const Box& box = field.grid().block(id).box;
    std::vector<double> values(static_cast<std::size_t>(field.shape(id).elements), -1);
    each_in(field.shape(id), everything(box.extents(), field.options()), [&](const Extent& p, int, std::int64_t at) {
      const Extent global{p[0] + box.lo[0], p[1] + box.lo[1], p[2] + box.lo[2]};
      const bool inside = box.contains(global), there = field.grid().box().contains(global);
      if (inside ? inside_too : (ghosts && there)) values[at] = value(global, round);
    });
    return values;
  }
  static void expect(const Field& field, int round, bool ghosts, const char* what) {
    for (const std::int64_t id : field.grid().local())
      EXPECT_TRUE(array_of<double>(field, id) == array(field, id, round, true, ghosts))
          << what << ", block " << id << " in round " << round;
  }
};

TEST_P(InFlight, ExchangesDoNotStopEachOther) {
  const auto [backend, first, second] = GetParam();
  const std::vector<Way> ways = ways_in_flight();
  const Way &one = ways[first], &other = ways[second];
  if (const auto why = unavailable(backend, one); !why.empty()) GTEST_SKIP() << why;
  const Communicator comm = Communicator::world();
  const Machine machine = machine_here(backend, one);
  GridOptions slabs, bricks;
  slabs.boxes = dealt_blocks(cells, {1, 1, machine.devices()}, machine.devices());
  bricks.boxes = dealt_blocks(cells, {1, machine.devices(), 1}, machine.devices());
  const Grid along_z(cells, machine, comm.rank(), slabs), along_y(cells, machine, comm.rank(), bricks);
  FieldOptions options;
  options.type = DType::f64;
  options.name = "halo";
  options.shared = true;
  options.ghost = {1, 1, 1};
  FieldOptions bare = options;
  bare.ghost = {0, 0, 0};
  const Halo halo(Halo::Options{});             // blocks form a chain, whose ends have one neighbour
  const Transpose transpose(along_z, along_y);  // each block sends to all blocks
  ExchangeOptions by_one, by_other;
  by_one.routes = one.routes;
  by_other.routes = other.routes;
  by_one.wait_limit = by_other.wait_limit = 20;
  for (const auto& why :
       {refusal_of(along_z, {{&halo, options}}, by_one), refusal_of(along_z, {{&transpose, bare, bare}}, by_other)})
    if (!why.empty()) GTEST_SKIP() << why;
  Field u(along_z, options), v(along_z, bare), w(along_y, bare);
  Exchange a(comm, along_z, {{&halo, &u}}, by_one), b(comm, along_z, {{&transpose, &v, &w}}, by_other);
  std::vector<Stream> streams = streams_of(along_z);
  for (int round = 0; round < 6; ++round) {
    for (const std::int64_t id : along_z.local()) {
      set_array(u, id, array(u, id, round, true, false));
      set_array(v, id, array(v, id, round + 50, true, false));
    }
    for (const std::int64_t id : along_y.local()) set_array(w, id, array(w, id, round, false, false));
    comm.barrier();
    // Ranks begin in the same order, as required; arrival order depends on routes and machines.
    Exchange &outer = round % 2 ? b : a, &inner = round % 2 ? a : b;
    outer.begin(streams);
    inner.begin(streams);
    (round % 3 == 2 ? outer : inner).end(streams);
    (round % 3 == 2 ? inner : outer).end(streams);
    finish(streams);
    a.check();
    b.check();
    expect(u, round, true, "halo");
    expect(w, round + 50, false, "transpose");
    comm.barrier();
  }
}

/// Pairs of sets of routes with the same number of devices per rank.
std::vector<std::pair<std::size_t, std::size_t>> pairs() {
  const std::vector<Way> ways = ways_in_flight();
  std::vector<std::pair<std::size_t, std::size_t>> found;
  for (std::size_t a = 0; a < ways.size(); ++a)
    for (std::size_t b = 0; b < ways.size(); ++b)
      if (ways[a].devices == ways[b].devices) found.emplace_back(a, b);
  return found;
}

std::vector<InFlight::ParamType> cases() {
  std::vector<InFlight::ParamType> found;
  for (const Backend backend : backends_here())
    for (const auto& [a, b] : pairs()) found.emplace_back(backend, a, b);
  return found;
}

INSTANTIATE_TEST_SUITE_P(Routes, InFlight, testing::ValuesIn(cases()), [](const auto& info) {
  const std::vector<Way> ways = ways_in_flight();
  return to_string(std::get<0>(info.param)) + "_" + ways[std::get<1>(info.param)].name + "_beside_" +
         ways[std::get<2>(info.param)].name;
});

}  // namespace
}  // namespace slipstream
