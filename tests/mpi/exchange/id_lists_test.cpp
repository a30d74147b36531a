// Values selected by lists of elements in any order.
#include <gtest/gtest.h>

#include <slipstream/exchange.hpp>

#include "support/exchange_rig.hpp"

namespace slipstream {
namespace {

/// Each block sends its first row, as a list of elements in reverse order, to its successor's first row.
class Reversed final : public Pattern {
 public:
  explicit Reversed(Op op) : op_(op) {}
  Op op() const override { return op_; }
  std::string name() const override { return "reversed"; }
  std::vector<Transfer> transfers(const Grid& grid, int, const Extent&, int rank) const override {
    const auto forwards = std::make_shared<std::vector<std::int64_t>>(),
               backwards = std::make_shared<std::vector<std::int64_t>>();
    for (std::int64_t n = 0; n < 8; ++n) {
      forwards->push_back(n);
      backwards->push_back(7 - n);
    }
    std::vector<Transfer> found;
    const auto blocks = static_cast<std::int64_t>(grid.blocks().size());
    for (std::int64_t id = 0; id < blocks; ++id) {
      const std::int64_t next = (id + 1) % blocks;
      if (grid.block(id).rank != rank && grid.block(next).rank != rank) continue;
      found.push_back({id, next, {{}, {}, forwards}, {{}, {}, backwards}, op_});
    }
    return found;
  }

 private:
  Op op_;
};

/// Uses the route `staged`, which packs all rows before it writes any: a source row is also a target row.
class IdLists : public testing::TestWithParam<Backend> {
 protected:
  void check(Op op) const;
};

TEST_P(IdLists, TravelElementByElement) { check(Op::copy); }
TEST_P(IdLists, AreAddedElementByElement) { check(Op::add); }

void IdLists::check(Op op) const {
  const Communicator comm = Communicator::world();
  const Machine machine = machine_here(GetParam(), 1);
  GridOptions grid_options;
  grid_options.partition.devices = {1, 1, comm.size()};
  grid_options.partition.blocks_per_device = {1, 1, 2};
  const Grid grid({8, 1, 4 * comm.size()}, machine, comm.rank(), grid_options);
  FieldOptions options;
  options.name = "values";
  options.type = DType::f64;
  options.copies = 1;
  options.shared = true;
  Field from(grid, options);
  std::vector<double> values(volume(grid.extent()));
  for (std::size_t n = 0; n < values.size(); ++n) values[n] = static_cast<double>(n);
  from.write(grid.box(), values.data());
  const Reversed pattern(op);
  ExchangeOptions exchange_options;
  exchange_options.routes = {RouteKind::staged};
  Exchange exchange(comm, grid, {{&pattern, &from}}, exchange_options);
  std::vector<Stream> streams;
  streams.emplace_back(machine.device(machine.devices_of_rank(comm.rank()).front()).local);
  exchange.run(streams);
  for (Stream& stream : streams) stream.synchronize();
  const auto blocks = static_cast<std::int64_t>(grid.blocks().size());
  for (const std::int64_t id : grid.local()) {
    const Box row{grid.block(id).box.lo, {8, 1, grid.block(id).box.lo[2] + 1}};
    std::vector<double> have(8);
    from.read(row, have.data());
    const std::int64_t source = grid.block((id + blocks - 1) % blocks).box.lo[2];
    for (std::int64_t x = 0; x < 8; ++x) {
      const std::int64_t kept = op == Op::add ? row.lo[2] * 8 + x : 0;
      EXPECT_EQ(have[x], static_cast<double>(source * 8 + 7 - x + kept)) << "block " << id;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, IdLists, testing::ValuesIn(backends_here()),
                         [](const auto& info) { return to_string(info.param); });

}  // namespace
}  // namespace slipstream
