// Small random flows with any sides and bodies, cut into random blocks as thin as one cell. Their bits equal those of
// the uncut flow.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <sstream>
#include <string>
#include <tuple>

#include <slipstream/gather.hpp>
#include <slipstream/lbm.hpp>

#include "solver/lbm/links/links.hpp"
#include "support/lbm_run.hpp"
#include "support/rough_bodies.hpp"

namespace slipstream::lbm {
namespace {

/// Random numbers that are the same on every machine, which standard distributions are not.
class Draw {
 public:
  explicit Draw(unsigned seed) : engine_(seed) {}
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(engine_() % static_cast<std::uint32_t>(n)); }
  std::int64_t from(std::int64_t low, std::int64_t high) { return low + below(high - low + 1); }
  double around(double size) { return size * (static_cast<double>(below(2001)) / 1000 - 1); }
  bool once_in(std::int64_t n) { return below(n) == 0; }

 private:
  std::mt19937 engine_;
};

void draw_side(Draw& draw, Options& o, int side) {
  const auto key = static_cast<Side>(side);
  const bool flat = o.lattice == Lattice::d2q9;
  const Vector u{draw.around(0.03), draw.around(0.03), flat ? 0 : draw.around(0.03)};
  switch (draw.below(6)) {
    case 0:
      return;  // no boundary condition drawn: this side of the domain stays a wall at rest
    case 1:
      o.walls[key] = u;
      o.walls[key][side / 2] = 0;
      return;
    case 2:
      o.boundaries[key] = {BoundaryKind::velocity, u};
      return;
    case 3:
      o.boundaries[key] = {BoundaryKind::slip};
      return;
    case 4:
      for (const auto& [other, boundary] : o.boundaries)
        if (boundary.kind == BoundaryKind::convective) return;
      o.boundaries[key] = {BoundaryKind::convective, {}, {}, 1.01, 0.05};
      return;
    default:
      o.boundaries[key] = {BoundaryKind::pressure, {}, {}, 1 + draw.around(0.01)};
  }
}

Options drawn_flow(Draw& draw, const Method& method) {
  Options o = method.options();
  constexpr DType formats[] = {DType::f64, DType::f32, DType::f16};
  o.precision = formats[draw.below(3)];
  if (!method.flat() && !method.moments() && draw.once_in(3)) o.lattice = Lattice::d3q27;
  const bool flat = method.flat();
  o.cells =
      flat ? Extent{draw.from(3, 8), draw.from(2, 6), 1} : Extent{draw.from(3, 6), draw.from(2, 5), draw.from(2, 4)};
  o.viscosity = 0.05;
  if (method.moments())
    o.collision = draw.once_in(3) ? Collision::regularised : Collision::recursive;
  else
    o.collision = draw.once_in(4) ? Collision::mrt : Collision::trt;
  for (int a = 0; a < (flat ? 2 : 3); ++a) {
    o.periodic[a] = draw.once_in(3);
    for (int side = 2 * a; !o.periodic[a] && side < 2 * a + 2; ++side) draw_side(draw, o, side);
  }
  const bool closed = std::all_of(o.boundaries.begin(), o.boundaries.end(),
                                  [](const auto& side) { return side.second.kind == BoundaryKind::slip; });
  for (int a = 0; a < 3; ++a)
    if (closed && o.periodic[a] && draw.once_in(2)) o.density_drop[a] = draw.around(0.01);
  return o;
}

/// Draws solid cells, a sphere that cuts links, or random cut links; also at sides and across edges.
Surfaces drawn_bodies(Draw& draw, const Extent& e) {
  const std::int64_t kind = draw.below(5);
  if (kind == 0) return {};
  if (kind > 2) return rough_bodies(e, static_cast<std::uint64_t>(draw.below(1000)));
  if (kind == 1) {
    const Vector centre{draw.below(4 * e[0]) * 0.25, draw.below(4 * e[1]) * 0.25,
                        e[2] == 1 ? 0.5 : draw.below(4 * e[2]) * 0.25};
    return Round{centre, 0.7 + 0.1 * static_cast<double>(draw.below(9)), true}.surfaces("ball", true);
  }
  std::vector<std::uint16_t> mask(volume(e));
  for (auto& cell : mask) cell = draw.once_in(5) ? 1 : 0;
  Surfaces s;
  s.names = {"cells"};
  s.solid = [mask, domain = Box{{0, 0, 0}, e}](const Box& box) {
    std::vector<std::uint16_t> found;
    for_each_cell(box, [&](const Extent& p) { found.push_back(mask[index_in(domain, p)]); });
    return found;
  };
  return s;
}

/// Cuts a box of cells into random blocks by repeated bisection, often one cell from its end.
std::vector<Block> drawn_cuts(Draw& draw, const Extent& e, int devices) {
  std::vector<Box> boxes{{{0, 0, 0}, e}};
  for (std::int64_t cuts = draw.from(1, 7); cuts > 0; --cuts) {
    const std::size_t which = draw.below(static_cast<std::int64_t>(boxes.size()));
    const int a = static_cast<int>(draw.below(3));
    const std::int64_t n = boxes[which].extent(a);
    if (n < 2) continue;
    Box high = boxes[which];
    const std::int64_t at = draw.once_in(2) ? 1 : draw.once_in(2) ? n - 1 : draw.from(1, n - 1);
    high.lo[a] += at;
    boxes[which].hi[a] = high.lo[a];
    boxes.push_back(high);
  }
  std::vector<Block> blocks;
  for (const Box& box : boxes) {
    Block block;
    block.box = box;
    block.device =
        static_cast<int>(static_cast<std::int64_t>(blocks.size()) < devices ? static_cast<std::int64_t>(blocks.size())
                                                                            : draw.below(devices));
    blocks.push_back(block);
  }
  return blocks;
}

/// A flow without two equal cells.
std::vector<std::array<double, 4>> uneven(const Extent& e, const Box& box) {
  std::vector<std::array<double, 4>> values;
  for_each_cell(box, [&](const Extent& p) {
    std::int64_t number = 0;
    for (int a = 2; a >= 0; --a) number = number * e[a] + (p[a] + e[a]) % e[a];
    const auto s = [&](double rate) { return std::sin(rate * static_cast<double>(number + 1)); };
    values.push_back({0.01 * s(2.3), 0.05 * s(1.1), 0.05 * s(1.7), e[2] == 1 ? 0 : 0.05 * s(0.7)});
  });
  return values;
}

/// State after some steps. `asked`: also queries forces on bodies between steps, which applies boundary links early.
std::vector<std::byte> state_after(int steps, const Options& o, const Surfaces& bodies, Backend backend, int devices,
                                   bool asked = false) {
  const Communicator world = Communicator::world();
  const Machine machine = machine_here(backend, devices, 0, world);
  Lbm lbm(world, machine, o, bodies);
  lbm.start_from([&](const Box& box) { return uneven(o.cells, box); });
  for (int s = 0; s < steps; ++s) {
    if (asked) lbm.loads();
    lbm.advance(1);
  }
  return gather(world, lbm.field(to_string(o.representation)), lbm.grid().box());
}

/// Chooses at random how the flow under test stores its cells and streams populations.
void draw_way(Draw& draw, Options& o) {
  o.overlap = draw.once_in(2) ? Overlap::on : Overlap::off;
  o.rim = {draw.from(1, 2), draw.from(1, 2), draw.from(1, 2)};
  if (o.representation == Representation::moments) {
    o.solids = draw.once_in(2) ? Solids::dense : Solids::flags;
    return;
  }
  o.streaming = draw.once_in(4) ? Streaming::two : Streaming::in_place;
  constexpr Solids kept[] = {Solids::dense, Solids::flags, Solids::sparse};
  o.solids = kept[draw.below(3)];
  const bool flat = o.lattice == Lattice::d2q9;
  constexpr Layout layouts[] = {Layout::soa, Layout::aos, Layout::soa_z};
  o.layout = layouts[draw.below(flat ? 2 : 3)];
  if (draw.once_in(2)) o.walls_in_step = draw.once_in(2);
}

std::string told(const Options& o, const Surfaces& bodies) {
  std::ostringstream text;
  text << to_string(o.lattice) << ' ' << to_string(o.precision) << ' ' << o.cells[0] << " x " << o.cells[1] << " x "
       << o.cells[2] << ", " << to_string(o.collision) << ", " << to_string(o.streaming) << ", " << to_string(o.solids)
       << ", layout " << static_cast<int>(o.layout.value_or(Layout::soa))
       << (o.overlap == Overlap::on ? ", overlapped" : "") << (bodies.solid ? ", " + bodies.names.front() : "");
  for (const auto& [side, boundary] : o.boundaries)
    text << ", " << to_string(side) << " kind " << static_cast<int>(boundary.kind);
  for (int a = 0; a < 3; ++a)
    if (o.periodic[a]) text << (o.density_drop[a] != 0 ? ", pressure drops along " : ", periodic ") << "xyz"[a];
  for (const Block& block : o.grid.boxes) {
    text << ", [";
    for (int a = 0; a < 3; ++a) text << block.box.lo[a] << ':' << block.box.hi[a] << (a < 2 ? " " : "]");
  }
  return text.str();
}

class RandomCuts : public testing::TestWithParam<std::tuple<Method, Backend>> {};
INSTANTIATE_TEST_SUITE_P(Lbm, RandomCuts,
                         testing::Combine(testing::Values(populations_held, Method{"three_dimensions", Lattice::d3q19},
                                                          Method{"moments", Lattice::d3q19, Collision::recursive}),
                                          testing::ValuesIn(backends_here())),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param).name) + "_" + to_string(std::get<1>(info.param));
                         });

TEST_P(RandomCuts, LeaveAllBitsOfAFlowOfAnySidesAndBodies) {
  const auto& [method, backend] = GetParam();
  const int steps = 5, devices = unavailable(backend, 2).empty() ? 2 : 1;
  const unsigned flows = method.flat() ? 60 : 40;
  for (unsigned seed = 0; seed < flows; ++seed) {
    Draw draw(seed);
    Options o = drawn_flow(draw, method);
    const Surfaces bodies = drawn_bodies(draw, o.cells);
    const auto whole = state_after(steps, o, bodies, backend, 1);
    o.grid.boxes = drawn_cuts(draw, o.cells, devices);
    draw_way(draw, o);
    const auto cut = state_after(steps, o, bodies, backend, devices, seed % 4 == 0);
    ASSERT_EQ(cut.size(), whole.size());
    EXPECT_EQ(std::memcmp(cut.data(), whole.data(), whole.size()), 0) << "seed " << seed << ": " << told(o, bodies);
  }
}

/// Inward populations of cells along an outlet are stored in cells of the body, which no step reads.
TEST(Cuts, LeaveAllBitsOfAFlowAlongAnOutletBesideABody) {
  for (const Side side : {Side::y_low, Side::y_high}) {
    Options o;
    o.lattice = Lattice::d2q9;
    o.precision = DType::f64;
    o.viscosity = 0.05;
    o.cells = {6, 5, 1};
    o.periodic = {true, false, false};
    o.boundaries[side] = {BoundaryKind::pressure, {}, {}, 1.01};
    Surfaces bodies;
    bodies.names = {"slab"};
    bodies.solid = [&](const Box& box) {
      std::vector<std::uint16_t> found;
      for_each_cell(box, [&](const Extent& p) { found.push_back(p[1] > 0 && p[1] < 4); });
      return found;
    };
    const auto whole = state_after(4, o, bodies, Backend::host, 1);
    for (const Streaming streaming : {Streaming::two, Streaming::in_place})
      for (const Solids solids : {Solids::flags, Solids::sparse}) {
        Options cut = o;
        cut.streaming = streaming;
        cut.solids = solids;
        cut.grid.partition.devices = {2, 1, 1};
        EXPECT_EQ(state_after(4, cut, bodies, Backend::host, 2), whole) << to_string(side) << to_string(streaming);
      }
  }
}

}  // namespace
}  // namespace slipstream::lbm
