// The halo of in-place streaming, compared with a search through all cells and velocities.
#include "solver/lbm/step/in_place_halo.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include "solver/lbm/lattice/fields.hpp"
#include "solver/lbm/storage/places.hpp"

namespace slipstream::lbm {
namespace {

struct Shape {
  const char* name;
  Lattice lattice;
  Extent cells, blocks;
  std::array<bool, 3> periodic;
  std::optional<Side> outlet = {};
};

const Shape shapes[] = {
    {"d3q19_periodic", Lattice::d3q19, {8, 6, 7}, {2, 2, 2}, {true, true, true}},
    {"d3q19_open", Lattice::d3q19, {8, 6, 7}, {2, 3, 2}, {false, false, false}},
    {"d3q27_channel", Lattice::d3q27, {9, 6, 5}, {3, 2, 1}, {true, false, true}},
    {"d3q27_its_own_neighbour", Lattice::d3q27, {5, 6, 7}, {1, 1, 2}, {true, true, false}},
    {"d3q27_one_cell_thick", Lattice::d3q27, {3, 4, 4}, {3, 2, 2}, {true, true, false}},
    {"d3q19_one_cell_thick_at_an_outlet", Lattice::d3q19, {3, 4, 4}, {3, 2, 2}, {false, true, false}, Side::x_high},
    {"d2q9_one_cell_thick_at_an_outlet", Lattice::d2q9, {6, 3, 1}, {2, 3, 1}, {true, false, false}, Side::y_low},
    {"d2q9", Lattice::d2q9, {9, 8, 1}, {3, 2, 1}, {true, false, false}},
    {"d2q9_one_block", Lattice::d2q9, {9, 8, 1}, {1, 1, 1}, {true, true, false}},
};

/// A value's move: source block and element, target block and element.
using Move = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;

class InPlaceHaloOf : public testing::TestWithParam<std::tuple<Shape, Layout, Form>> {
 protected:
  InPlaceHaloOf() : s(std::get<0>(GetParam())), form(std::get<2>(GetParam())) {
    options.lattice = s.lattice;
    options.cells = s.cells;
    options.periodic = s.periodic;
    options.layout = std::get<1>(GetParam());
    options.streaming = Streaming::in_place;
    if (s.outlet) options.boundaries[*s.outlet] = {BoundaryKind::pressure};
    MachineDevice device;
    device.local = {Backend::host, 0};
    device.name = "test device";
    device.uuid = "test";
    device.memory = 1 << 30;
    GridOptions cut;
    cut.partition.blocks_per_device = s.blocks;
    cut.periodic = s.periodic;
    cut.dimensions = s.lattice == Lattice::d2q9 ? 2 : 3;
    grid.emplace(s.cells, Machine("test", {device}, {{LinkKind::same, 100, true}}), 0, cut);
    field = population_field(*grid, options, false);
  }

  Places places(const Block& block) const {
    BlockArrays arrays;
    arrays.populations.shape = block_shape(block.box.extents(), field);
    for (int a = 0; a < 3; ++a)
      if (wrapped_axes(*grid, options)[a]) arrays.wrap.extent[a] = static_cast<int>(s.cells[a]);
    return Places(arrays, form);
  }
  static Cell local(const Block& block, const Extent& p) {
    const auto part = [&](int a) { return static_cast<std::int32_t>(p[a] - block.box.lo[a]); };
    return {part(0), part(1), part(2)};
  }
  const Block& holder(const Extent& p) const {
    return grid->block(grid->overlapping({p, {p[0] + 1, p[1] + 1, p[2] + 1}}).front());
  }

  template <class L>
  std::vector<Move> by_search() const {
    std::vector<Move> all;
    for (std::int64_t z = 0; z < s.cells[2]; ++z)
      for (std::int64_t y = 0; y < s.cells[1]; ++y)
        for (std::int64_t x = 0; x < s.cells[0]; ++x)
          for (int i = 1; i < L::q; ++i) add<L>({x, y, z}, i, all);
    std::sort(all.begin(), all.end());
    return all;
  }

  /// Adds the moves of a streaming population: from cell to cell across blocks, and to ghosts.
  template <class L>
  void add(const Extent& from, int i, std::vector<Move>& all) const {
    const Block& source = holder(from);
    Extent to = from, inside = from;
    bool round = false;
    for (int a = 0; a < 3; ++a) {
      to[a] += L::velocity[i][a];
      const std::int64_t n = s.cells[a];
      if (s.periodic[a] && (to[a] < 0 || to[a] >= n)) {
        round |= field.ghost[a] > 0;
        to[a] = (to[a] + n) % n;
      }
      inside[a] = std::clamp<std::int64_t>(to[a], 0, n - 1);
    }
    const Heading h = heading_of<L>(i);
    const auto move = [&](const Block& target) {
      all.push_back({source.id, places(source).outgoing(local(source, from), h), target.id,
                     places(target).incoming(local(target, to), h)});
    };
    const Block& target = holder(inside);
    if (target.id != source.id || round) move(target);
    if (!s.outlet) return;
    // Inward populations of cells along an outlet are also sent to an adjacent block that is one cell thick.
    const int side = static_cast<int>(*s.outlet), a = side / 2;
    if (from[a] != (side % 2 == 0 ? 0 : s.cells[a] - 1) || L::velocity[i][a] != (side % 2 == 0 ? 1 : -1)) return;
    Extent along = inside;
    along[a] = from[a];
    const Block& thin = holder(along);
    if (thin.id != source.id && thin.box.extent(a) == 1) move(thin);
  }

  std::vector<Move> by_pattern() const {
    const InPlaceHalo halo(*grid, options, form);
    std::vector<Move> all;
    for (const Transfer& t : halo.transfers(*grid, field.components, field.ghost, 0)) {
      const auto source = elements(t.source_block, t.source), target = elements(t.target_block, t.target);
      EXPECT_EQ(source.size(), target.size());
      for (std::size_t n = 0; n < source.size(); ++n)
        all.push_back({t.source_block, source[n], t.target_block, target[n]});
    }
    std::sort(all.begin(), all.end());
    return all;
  }

  std::vector<std::int64_t> elements(std::int64_t block, const IndexSet& set) const {
    const BlockShape shape = block_shape(grid->block(block).box.extents(), field);
    std::vector<std::int64_t> all;
    for (const int c : set.components)
      for (std::int64_t z = set.box.lo[2]; z < set.box.hi[2]; ++z)
        for (std::int64_t y = set.box.lo[1]; y < set.box.hi[1]; ++y)
          for (std::int64_t x = set.box.lo[0]; x < set.box.hi[0]; ++x)
            all.push_back(c * shape.component_stride + x * shape.stride[0] + y * shape.stride[1] + z * shape.stride[2]);
    return all;
  }

  const Shape& s;
  Form form;
  Options options;
  std::optional<Grid> grid;
  FieldOptions field;
};

TEST_P(InPlaceHaloOf, CarriesThePopulationsThatCrossAndNoOthers) {
  const auto right = with_lattice(s.lattice, [&]<class L>(L) { return by_search<L>(); });
  EXPECT_EQ(by_pattern(), right);
  EXPECT_FALSE(right.empty() && volume(s.blocks) > 1);
}

// Moves must be independent, so that the order of copies does not matter.
TEST_P(InPlaceHaloOf, WritesNothingThatItReadsOrWritesElsewhere) {
  std::set<std::pair<std::int64_t, std::int64_t>> read, written;
  const std::vector<Move> moves = by_pattern();
  for (const auto& [source, from, target, to] : moves) {
    read.emplace(source, from);
    written.emplace(target, to);
  }
  EXPECT_EQ(written.size(), moves.size());
  for (const auto& place : read) EXPECT_FALSE(written.contains(place));
}

INSTANTIATE_TEST_SUITE_P(Shapes, InPlaceHaloOf,
                         testing::Combine(testing::ValuesIn(shapes),
                                          testing::Values(Layout::soa, Layout::aos, Layout::soa_z),
                                          testing::Values(Form::shared, Form::turned)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param).name) + "_" + to_string(std::get<1>(info.param)) +
                                  (std::get<2>(info.param) == Form::turned ? "_turned" : "_shared");
                         });

}  // namespace
}  // namespace slipstream::lbm
