// The GPU kernel that marches through layers, run by host threads. Its bits must equal those of the step by single
// cells.
#include "solver/lbm/by_moments/march.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "support/threaded_team.hpp"

namespace slipstream::lbm {
namespace {

struct Domain {
  Extent cells;
  int ghost = 0;       ///< number of ghost layers; 0: the block is its own neighbour on all axes without walls
  unsigned walls = 0;  ///< bit mask of the sides that are walls
  int left_out = 0;    ///< layers of cells on every side that another kernel updates
};

constexpr int all_sides = 63;

/// Arrays of a block before and after a step.
template <class S>
struct Rig {
  using Word = typename S::Word;
  std::vector<Word> before, after;
  BlockArrays arrays;
  Box box;

  explicit Rig(const Domain& d) {
    BlockShape shape = block_shape(d.cells, [&] {
      FieldOptions o;
      o.components = 10;
      o.ghost = {d.ghost, d.ghost, d.ghost};
      o.type = sizeof(Word) == 8 ? DType::f64 : sizeof(Word) == 4 ? DType::f32 : DType::f16;
      o.alignment = 16;
      return o;
    }());
    before.resize(shape.elements);
    after.resize(shape.elements);
    std::mt19937 random(5);
    std::uniform_real_distribution<typename S::Number> number(-0.02f, 0.02f);
    for (std::int64_t n = 0; n + 9 * shape.component_stride < shape.elements; ++n) {
      TenMoments<typename S::Number> m{};
      for (auto* one : {&m.excess, &m.x, &m.y, &m.z, &m.xx, &m.yy, &m.zz, &m.xy, &m.xz, &m.yz}) *one = number(random);
      store_moments<S>(&before[n], shape.component_stride, m);
    }
    arrays.populations.shape = arrays.populations_out.shape = shape;
    arrays.populations.origin = reinterpret_cast<std::byte*>(&before[shape.origin]);
    arrays.populations_out.origin = reinterpret_cast<std::byte*>(&after[shape.origin]);
    arrays.flags.shape.extent = d.cells;
    arrays.recursive = true;
    arrays.walls = static_cast<std::uint8_t>(d.walls);
    for (int a = 0; a < 3; ++a) {
      if (d.ghost == 0 && (d.walls >> 2 * a & 3u) == 0) arrays.wrap.extent[a] = static_cast<int>(d.cells[a]);
      box.lo[a] = d.left_out;
      box.hi[a] = d.cells[a] - d.left_out;
    }
  }
};

using Bits = std::vector<unsigned char>;
template <class Word>
Bits bits_of(const std::vector<Word>& words) {
  const auto* first = reinterpret_cast<const unsigned char*>(words.data());
  return {first, first + words.size() * sizeof(Word)};
}

template <class S, int width, WallTiles which = WallTiles::none, bool plain = true, bool recursive = true>
void march_as_cells(const Domain& d, int deepest = 5) {
  using Collision = Regularised<typename S::Number, plain, recursive>;
  Model model;
  if (!plain) {
    model.force = {3e-4, -2e-4, 1e-4};
    model.smagorinsky = 0.2;
  }
  const Collision collision(model);
  Rig<S> one_by_one(d), marched(d);
  one_by_one.arrays.recursive = marched.arrays.recursive = recursive;
  const auto step = [&](Rig<S>& rig) {
    return StepCells<S, Collision>{MomentCells<S>(rig.arrays),
                                   reinterpret_cast<typename S::Word*>(rig.arrays.populations_out.origin), collision,
                                   Scalars<const std::uint8_t>()};
  };
  const Box& box = one_by_one.box;
  for (auto k = static_cast<int>(box.lo[2]); k < box.hi[2]; ++k)
    for (auto j = static_cast<int>(box.lo[1]); j < box.hi[1]; ++j)
      for (auto i = static_cast<int>(box.lo[0]); i < box.hi[0]; ++i) step(one_by_one)(i, j, k);
  constexpr std::size_t bytes = sizeof(typename S::Word);
  const auto march = march_of<march_shape(bytes, width), march_shape(bytes, 32), which>(box, step(marched), 1, deepest);
  run_threaded(march.teams(), march.threads, march.shared_bytes, march);
  EXPECT_EQ(bits_of(marched.after), bits_of(one_by_one.after))
      << slipstream::to_string(d.cells) << ", ghosts " << d.ghost << ", sides " << d.walls << ", left out "
      << d.left_out;
}

template <class S>
class MarchOf : public testing::Test {};
using Stores = testing::Types<StoredMomentsF16, StoredMoments<float>, StoredMoments<double>>;
TYPED_TEST_SUITE(MarchOf, Stores);

TYPED_TEST(MarchOf, APeriodicBlockGivesTheBitsOfSingleCells) {
  march_as_cells<TypeParam, 64>({{66, 9, 7}});
  march_as_cells<TypeParam, 32>({{33, 10, 4}});
}

TYPED_TEST(MarchOf, PartsOfABlockGivesTheBitsOfSingleCells) {
  march_as_cells<TypeParam, 64>({{64, 5, 6}, 1});
  for (const int left_out : {1, 2}) march_as_cells<TypeParam, 32>({{37, 12, 9}, 1, 0, left_out});
}

template <class S, bool plain, bool recursive>
void march_by_other_collisions() {
  constexpr int usual = usual_tile_width(sizeof(typename S::Word));
  march_as_cells<S, 96 - usual, WallTiles::none, plain, recursive>({{66, 9, 5}});
  march_as_cells<S, usual, WallTiles::all, plain, recursive>({{34, 9, 4}, 1, 8u});
  march_as_cells<S, usual, WallTiles::apart, plain, recursive>({{34, 9, 4}, 0, all_sides});
}

TYPED_TEST(MarchOf, UnderAForceWithEddiesGivesTheBitsOfSingleCells) {
  march_by_other_collisions<TypeParam, false, true>();
  march_by_other_collisions<TypeParam, false, false>();
}

TYPED_TEST(MarchOf, WithoutThirdOrderGivesTheBitsOfSingleCells) { march_by_other_collisions<TypeParam, true, false>(); }

template <class S, WallTiles which>
void march_between_walls() {
  constexpr int usual = usual_tile_width(sizeof(typename S::Word));
  march_as_cells<S, usual, which>({{67, 19, 11}, 0, all_sides});
  march_as_cells<S, usual, which>({{64, 4, 4}, 0, all_sides}, 1);
  for (const unsigned sides : {1u, 8u, 34u}) march_as_cells<S, usual, which>({{34, 9, 4}, 1, sides});
}

TYPED_TEST(MarchOf, ABlockBetweenWallsGivesTheBitsOfSingleCells) {
  march_between_walls<TypeParam, WallTiles::all>();
  march_between_walls<TypeParam, WallTiles::apart>();
}

/// Lists of cells beside walls at rest, and of cells whose populations links have set.
TYPED_TEST(MarchOf, ListedCellsByTeamsGiveTheBitsOfThoseByOneThread) {
  using S = TypeParam;
  using T = typename S::Number;
  using Collision = Regularised<T, true, true>;
  const Domain domain{{13, 7, 5}, 1};
  std::vector<BoundaryCell> cells;
  std::vector<std::uint32_t> list;
  std::mt19937 random(9);
  int arriving = 0;
  for (int k = 0; k < 5; ++k)
    for (int j = 0; j < 7; ++j)
      for (int i = 0; i < 13; ++i) {
        if (random() % 3 == 0) continue;
        list.push_back(static_cast<std::uint32_t>(cells.size()));
        cells.push_back({{i, j, k}, static_cast<std::uint32_t>(random() & 0x7fffe)});
        if (random() % 4 == 0) cells.back().arrivals = arriving++;
      }
  std::shuffle(list.begin(), list.end(), random);
  list.resize(list.size() / 32 * 32 + 5);  // the last thread block is only partly filled
  std::vector<T> brought(static_cast<std::size_t>(D3Q19::q * arriving));
  std::uniform_real_distribution<T> number(T(-0.01), T(0.01));
  for (T& one : brought) one = number(random);
  const auto step = [&](Rig<S>& rig) {
    rig.arrays.boundary = {cells.data(), {}, brought.data(), arriving, list};
    return StepBoundary<S, Collision>{
        {MomentCells<S>(rig.arrays), reinterpret_cast<typename S::Word*>(rig.arrays.populations_out.origin),
         Collision(Model{}), Scalars<const std::uint8_t>()},
        list.data()};
  };
  Rig<S> by_one(domain), by_teams(domain);
  const auto right = step(by_one);
  for (std::size_t n = 0; n < list.size(); ++n) right(static_cast<std::int64_t>(n));
  const StepBoundaryByTeams<S, Collision> teams{step(by_teams), static_cast<std::int64_t>(list.size())};
  run_threaded(teams.teams(), teams.threads, teams.shared_bytes, teams);
  EXPECT_GT(arriving, 10);
  EXPECT_EQ(bits_of(by_teams.after), bits_of(by_one.after));
}

}  // namespace
}  // namespace slipstream::lbm
