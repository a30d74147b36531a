#pragma once
// Tests of the lattice Boltzmann step: groups of cells computed together against single cells, on every backend.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include <slipstream/buffer.hpp>

#include "machine_rig.hpp"
#include "solver/lbm/collision/trt.hpp"
#include "solver/lbm/step/stream_collide_groups.hpp"

namespace slipstream::lbm {

inline constexpr Extent extent{12, 5, 4};
inline constexpr int ghost = 4;  // ghost cells in x, so that rows are aligned to groups of cells; one in y and z

inline BlockShape shape_of(int components) {
  BlockShape shape;
  shape.extent = extent;
  shape.ghost = {ghost, 1, 1};
  shape.stride[0] = 1;
  shape.stride[1] = extent[0] + 2 * ghost;
  shape.stride[2] = shape.stride[1] * (extent[1] + 2);
  shape.component_stride = shape.stride[2] * (extent[2] + 2);
  shape.origin = shape.stride[2] + shape.stride[1] + ghost;
  shape.elements = shape.component_stride * components;
  return shape;
}

template <class T>
BlockData place(const Buffer<T>& buffer, const BlockShape& shape) {
  return {reinterpret_cast<std::byte*>(buffer.data() + shape.origin), shape, {}};
}

enum class By : std::uint8_t { cells, groups };

/// Runs a lattice Boltzmann step on one block, by single cells or by groups of cells, and returns the new populations.
template <class L, class S, AtSolids solids, Sides sides, bool in_place>
std::vector<typename S::Word> step(Backend backend, By by, const Box& box, Form form, int walls = 0, bool skip = true) {
  using Word = typename S::Word;
  const BlockShape shape = shape_of(L::q), flag_shape = shape_of(1);
  const auto count = static_cast<std::size_t>(shape.elements);
  Stream stream({backend, 0});
  std::mt19937 random(7);
  std::uniform_real_distribution<float> number(-0.01f, 0.01f);
  std::vector<Word> values(count), result(count);
  for (Word& word : values) word = S::store(static_cast<typename S::Number>(number(random)) * S::unit);
  std::vector<std::uint8_t> marks(static_cast<std::size_t>(flag_shape.elements));
  for (std::uint8_t& mark : marks) mark = random() % 2 == 0;
  const Buffer<Word> from(stream.device(), count), to(stream.device(), count);
  const Buffer<std::uint8_t> flags(stream.device(), marks.size());
  copy(stream, from.data(), values.data(), from.bytes());
  copy(stream, to.data(), values.data(), to.bytes());
  copy(stream, flags.data(), marks.data(), flags.bytes());
  BlockArrays b;
  b.populations = place(from, shape);
  b.populations_out = in_place ? b.populations : place(to, shape);
  b.flags = place(flags, flag_shape);
  b.form = form;
  b.has_solids = solids != AtSolids::none;
  b.leave_solids = solids == AtSolids::leave;
  b.skip_solids = b.leave_solids && skip;
  b.walls = static_cast<std::uint8_t>(walls);
  for (const int a : {0, 2})
    if ((a != 0 || sides != Sides::open) && (walls >> (2 * a) & 3) == 0) b.wrap.extent[a] = static_cast<int>(extent[a]);
  using Model = Trt<L, typename S::Number, S::unit>;
  const Model collision(1.7, 1.3);
  if (by == By::groups) {
    using Groups = StreamCollideGroups<L, S, solids, sides, in_place, Model>;
    EXPECT_TRUE(in_groups<Groups>(box, b));
    launch(stream, groups_of<Groups>(box), Groups{step_of<L, S, Strides::soa, solids, sides, in_place>(b, collision)});
  } else {
    launch(stream, box, CellByCell{step_of<L, S, Strides::soa, solids, sides, in_place>(b, collision)});
  }
  const Buffer<Word>& written = in_place ? from : to;
  copy(stream, result.data(), written.data(), written.bytes());
  stream.synchronize();
  EXPECT_NE(std::memcmp(result.data(), values.data(), from.bytes()), 0);
  return result;
}

template <class L, class S, AtSolids solids, Sides sides, bool in_place>
std::vector<typename S::Word> compare(Backend backend, const Box& box, Form form, int walls = 0) {
  const auto cells = step<L, S, solids, sides, in_place>(backend, By::cells, box, form, walls);
  const auto groups = step<L, S, solids, sides, in_place>(backend, By::groups, box, form, walls);
  EXPECT_EQ(std::memcmp(cells.data(), groups.data(), cells.size() * sizeof(typename S::Word)), 0)
      << "form " << static_cast<int>(form) << ", " << L::q << " velocities, " << sizeof(typename S::Word)
      << " bytes, walls " << walls;
  return groups;
}

/// Walls at some sides; without any the block wraps around.
template <class L, class S>
void compare_walls(Backend backend, const Box& whole, const Box& part) {
  constexpr Form form = Form::apart;
  const auto wrapped = step<L, S, AtSolids::none, Sides::wrap, false>(backend, By::cells, whole, form);
  const auto without = compare<L, S, AtSolids::none, Sides::walls, false>(backend, whole, form);
  EXPECT_EQ(std::memcmp(without.data(), wrapped.data(), without.size() * sizeof(typename S::Word)), 0);
  for (const int walls : {1, 2, 3, 4, 8, 4 | 3, 63, 63 & ~2 & ~4}) {
    const auto found = compare<L, S, AtSolids::none, Sides::walls, false>(backend, whole, form, walls);
    EXPECT_NE(std::memcmp(found.data(), wrapped.data(), found.size() * sizeof(typename S::Word)), 0) << walls;
    compare<L, S, AtSolids::none, Sides::walls, false>(backend, part, form, walls);
  }
}

/// Compares LBM steps by groups of cells and by single cells. Only solid cells may differ: unchanged, or set to rest.
template <class L, class S, bool in_place>
void compare_left_alone(Backend backend, const Box& box, Form form, bool skip) {
  const auto left = step<L, S, AtSolids::leave, Sides::wrap, in_place>(backend, By::cells, box, form, 0, skip);
  const auto rested = step<L, S, AtSolids::rest, Sides::wrap, in_place>(backend, By::cells, box, form);
  const auto groups = step<L, S, AtSolids::leave, Sides::wrap, in_place>(backend, By::groups, box, form, 0, skip);
  const auto same = [](auto a, auto b) { return std::memcmp(&a, &b, sizeof a) == 0; };
  std::size_t wrong = 0, kept = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (!same(groups[i], left[i]) && !same(groups[i], rested[i])) ++wrong;
    if (!same(left[i], rested[i]) && same(groups[i], left[i])) ++kept;
  }
  EXPECT_EQ(wrong, 0u);
  EXPECT_GT(kept, 0u);
}

template <class L, class S>
void compare_all(Backend backend) {
  const Box whole{{0, 0, 0}, extent}, part{{4, 1, 0}, {8, 4, 4}};
  compare<L, S, AtSolids::none, Sides::wrap, false>(backend, whole, Form::apart);
  compare<L, S, AtSolids::none, Sides::wrap, false>(backend, part, Form::apart);
  for (const bool skip : {true, false}) compare_left_alone<L, S, false>(backend, whole, Form::apart, skip);
  if constexpr (step_knows_walls<S>(false)) compare_walls<L, S>(backend, whole, part);
  for (const Form form : {Form::shared, Form::turned}) {
    compare<L, S, AtSolids::none, Sides::wrap, true>(backend, whole, form);
    compare<L, S, AtSolids::none, Sides::wrap, true>(backend, part, form);
    for (const bool skip : {true, false}) compare_left_alone<L, S, true>(backend, whole, form, skip);
  }
}

}  // namespace slipstream::lbm
