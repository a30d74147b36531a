// Bytes of device memory that a plan reports.
#include <gtest/gtest.h>

#include "support/exchange_rig.hpp"

namespace slipstream {
namespace {

TEST(PlanBytes, CountWhatIsPackedAndTheSlotsWhereItLands) {
  const Communicator comm = Communicator::world();
  const Machine machine = machine_here(Backend::host, 2);
  GridOptions grid_options;
  grid_options.periodic = {true, true, true};
  const Grid grid({32 * machine.devices(), 24, 20}, machine, comm.rank(), grid_options);
  FieldOptions field_options;
  field_options.ghost = {1, 1, 1};
  field_options.shared = true;
  Field field(grid, field_options);
  const Halo halo(Halo::Options{});
  ExchangeOptions options;
  options.routes = {RouteKind::peer, RouteKind::colocated, RouteKind::staged};
  const Exchange exchange(comm, grid, {{&halo, &field}}, options);
  for (const int device : machine.devices_of_rank(comm.rank())) {
    std::int64_t moved = 0;
    for (const MessageInfo& m : exchange.messages()) {
      if (m.source == device) moved += m.bytes;
      if (m.target == device) moved += m.bytes;
    }
    EXPECT_GT(moved, 0);
    const std::int64_t held = exchange.bytes_on(machine.device(device).local);
    EXPECT_GE(held, moved);
    EXPECT_LT(held, 2 * moved + (1 << 20)) << "beside the values only tables";
  }
}

}  // namespace
}  // namespace slipstream
