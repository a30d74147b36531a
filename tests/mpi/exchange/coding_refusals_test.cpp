// Errors of item codings: invalid options, and overflow on routes that devices drive alone.
#include <gtest/gtest.h>

#include <memory>

#include "support/exchange_rig.hpp"
#include "support/expect_error.hpp"

namespace slipstream {
namespace {

FieldOptions field_of(const char* name, DType type) {
  FieldOptions options;
  options.name = name;
  options.type = type;
  options.ghost = {1, 1, 1};
  options.shared = true;
  return options;
}

/// The halo of one field, for invalid codings.
struct RefusedCoding {
  Communicator comm = Communicator::world();
  Machine machine = machine_here(Backend::host, 2);
  Grid grid{{12, 10, 8}, machine, comm.rank(), GridOptions{}};
  const Halo halo{Halo::Options{}};

  std::optional<Error> by(DType type, const Coding& coding, const ExchangeOptions& options = {}) const {
    Field field(grid, field_of("u", type));
    return error_of([&] { Exchange(comm, grid, {{&halo, &field, nullptr, false, coding}}, options); });
  }
};

TEST(CodingRefuses, AnotherCodingOnOneRank) {
  const RefusedCoding r;
  if (r.comm.size() == 1) GTEST_SKIP() << "needs two ranks";
  const auto error = r.by(DType::f64, {r.comm.rank() == 1 ? Coding::Kind::cast : Coding::Kind::raw});
  expect_error(error, ErrorCode::mismatch, {{"rank", 1}});
  EXPECT_EQ(error->fact("first").find("u (1 x f64, soa, by halo)"), 0u) << error->fact("first");
  EXPECT_EQ(error->fact("given").find("u (1 x f64, soa, by halo, cast)"), 0u) << error->fact("given");
}

/// Exchange of an f64 field that devices send as f32 (coding `cast`), by routes that the host does not drive.
class CastWithoutCheck : public testing::Test {
 protected:
  CastWithoutCheck() { options.routes = {RouteKind::kernel, RouteKind::direct}; }
  ExchangeItem item() { return {&halo, &field, nullptr, false, {Coding::Kind::cast}}; }
  const Communicator comm = Communicator::world();
  const Machine machine = machine_here(Backend::host, comm.size());
  const Grid grid{{12, 10, 8}, machine, comm.rank()};
  const Halo halo{{Reach::faces, {1, 1, 1}, {1, 1, 1}, {}}};
  Field field{grid, field_of("density", DType::f64)};
  ExchangeOptions options;
};

/// Hosts compare the overflow flags from time to time, because no host waits for the devices in these exchanges.
TEST_F(CastWithoutCheck, TellsAllRanksAtTheSameExchange) {
  Exchange exchange(comm, grid, {item()}, options);
  for (const std::int64_t id : grid.local())
    set_array(field, id,
              std::vector<double>(static_cast<std::size_t>(field.shape(id).elements), comm.rank() == 0 ? 1e39 : 1));
  comm.barrier();
  std::vector<Stream> streams = streams_of(grid);
  std::optional<Error> said;
  std::int64_t done = 0;
  for (; !said && done < 200; ++done) {
    said = error_of([&] { exchange.run(streams); });
    finish(streams);
  }
  expect_error(said, ErrorCode::overflow, {{"item", 0}, {"field", "density"}, {"pattern", "halo"}, {"coding", "cast"}});
  for (const std::int64_t elsewhere : comm.all_gather(done)) EXPECT_EQ(elsewhere, 65);
}

TEST_F(CastWithoutCheck, NamesAPatternThatIsGone) {
  auto gone = std::make_unique<Halo>(halo);
  Exchange exchange(comm, grid, {{gone.get(), &field, nullptr, false, {Coding::Kind::cast}}}, options);
  gone.reset();
  for (const std::int64_t id : grid.local())
    set_array(field, id, std::vector<double>(static_cast<std::size_t>(field.shape(id).elements), 1e39));
  comm.barrier();
  std::vector<Stream> streams = streams_of(grid);
  exchange.run(streams);
  finish(streams);
  expect_error([&] { exchange.check(); }, ErrorCode::overflow,
               {{"item", 0}, {"field", "density"}, {"pattern", "halo"}, {"coding", "cast"}});
  comm.barrier();
}

/// Other ranks wait for a rank that does not call check() no longer than the timeout.
TEST_F(CastWithoutCheck, OnOneRankIsATimeOutOfTheOthers) {
  options.wait_limit = 0.5;
  Exchange exchange(comm, grid, {item()}, options);
  if (comm.rank() > 0) {
    expect_error([&] { exchange.check(); }, ErrorCode::timeout, {{"rank", comm.rank()}, {"limit", 0.5}});
  }
  comm.barrier();
}

}  // namespace
}  // namespace slipstream
