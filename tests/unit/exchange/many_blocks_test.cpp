// Set-up of a device with thousands of blocks.
#include <gtest/gtest.h>

#include "support/exchange_rig.hpp"

namespace slipstream {
namespace {

/// A set-up that compares all pairs of blocks would take half a minute.
TEST(ManyBlocks, FillTheirGhosts) {
  const Communicator comm = Communicator::world();
  const Machine machine = machine_here(Backend::host, 1);
  GridOptions grid_options;
  grid_options.periodic = {true, true, true};
  grid_options.partition.blocks_per_device = {16, 16, 16};
  const Grid grid({32, 32, 32}, machine, comm.rank(), grid_options);
  FieldOptions options;
  options.name = "u";
  options.type = DType::i32;
  options.ghost = {1, 1, 1};
  Field field(grid, options);
  const auto each_cell = [&](auto f) {
    for (const Block& block : grid.blocks()) {
      const View<std::int32_t> view = field.view<std::int32_t>(block.id);
      for (std::int64_t z = -1; z <= 2; ++z)
        for (std::int64_t y = -1; y <= 2; ++y)
          for (std::int64_t x = -1; x <= 2; ++x) {
            const Extent p{x, y, z};
            std::int64_t number = 0;
            for (std::size_t a = 3; a-- > 0;) number = number * 32 + (block.box.lo[a] + p[a] + 32) % 32;
            f(view.origin[x * view.stride[0] + y * view.stride[1] + z * view.stride[2]],
              static_cast<std::int32_t>(number), Box{{0, 0, 0}, {2, 2, 2}}.contains(p));
          }
    }
  };
  each_cell([](std::int32_t& value, std::int32_t number, bool inside) { value = inside ? number : -1; });
  const Halo halo{Halo::Options{}};
  Exchange exchange(comm, grid, {{&halo, &field}});
  std::vector<Stream> streams = streams_of(grid);
  exchange_once(exchange, streams, 1);
  std::int64_t wrong = 0;
  each_cell([&](std::int32_t& value, std::int32_t number, bool) { wrong += value != number; });
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace slipstream
