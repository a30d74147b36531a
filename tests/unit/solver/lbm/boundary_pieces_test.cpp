// Tests of cutting a block's boundary region (cells beside ghosts) into boxes that run concurrently.
#include "solver/lbm/step/boundary_pieces.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "solver/lbm/links/links.hpp"

namespace slipstream::lbm {
namespace {

TEST(BoundaryPieces, CoverEveryCellOnceAndKeepRowsWhole) {
  const Box cells{{0, 0, 0}, {22, 19, 17}};
  for (const Margins& margins :
       {Margins{{1, 1, 1}, {1, 1, 1}}, Margins{{4, 2, 3}, {0, 5, 3}}, Margins{{0, 9, 0}, {0, 10, 0}}})
    for (const int row_axis : {0, 2})
      for (const std::int64_t most : {1, 64, 1000000}) {
        const std::vector<Box> slabs = split_boundary(cells, margins).boundary,
                               pieces = boundary_pieces(slabs, most, row_axis);
        std::vector<int> covered(cells.volume(), 0);
        const auto count = [&](const std::vector<Box>& boxes, int by) {
          for (const Box& box : boxes) for_each_cell(box, [&](const Extent& p) { covered[index_in(cells, p)] += by; });
        };
        count(slabs, 1);
        count(pieces, -1);
        for (const int times : covered) ASSERT_EQ(times, 0);
        for (const Box& piece : pieces) {
          const bool whole = std::any_of(slabs.begin(), slabs.end(), [&](const Box& slab) {
            return slab.lo[row_axis] == piece.lo[row_axis] && slab.hi[row_axis] == piece.hi[row_axis];
          });
          EXPECT_TRUE(whole);
        }
        EXPECT_EQ(pieces.size() == slabs.size(), most == 1000000);
      }
}

}  // namespace
}  // namespace slipstream::lbm
