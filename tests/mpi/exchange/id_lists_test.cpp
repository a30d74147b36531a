// Values selected by lists of elements in any order.
#include <gtest/gtest.h>

#include <random>

#include <slipstream/exchange.hpp>

#include "support/exchange_rig.hpp"
#include "support/listed_pattern.hpp"

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

/// Transfers whose source, target or both are given as lists of elements; messages are long enough for several chunks.
class ListsAndBoxes : public testing::TestWithParam<std::tuple<Backend, std::size_t>> {
 protected:
  static inline const std::vector<Way> ways = all_ways();
  const Backend backend = std::get<0>(GetParam());
  const Way& way = ways[std::get<1>(GetParam())];

  struct Ends {
    bool listed_source, listed_target;
  };
  static inline const std::vector<Ends> all_ends{{true, true}, {true, false}, {false, true}};

  void SetUp() override {
    if (const auto why = unavailable(backend, way); !why.empty()) GTEST_SKIP() << why;
    machine_.emplace(machine_here(backend, way));
    const int devices = machine_->devices();
    GridOptions slabs;
    slabs.boxes = dealt_blocks({34, 18, 10 * devices}, {1, 1, devices}, devices);
    grid_.emplace(Extent{34, 18, 10 * devices}, *machine_, comm_.rank(), slabs);
    values_.name = "values";
    values_.type = DType::f64;
    values_.components = 2;
    values_.ghost = {1, 1, 1};
    values_.shared = true;
    options_.routes = way.routes;
    options_.knobs.grouping = way.grouping;
    options_.knobs.chunk = 16384;
    const auto why = refusal_of(*grid_, {{&halo_, values_}}, options_);
    if (!why.empty()) GTEST_SKIP() << why;
  }

  /// The elements of a fixed box of cells as a list, in another order for each seed.
  IndexSet shuffled(unsigned seed) const {
    const BlockShape shape = block_shape({34, 18, 10}, values_);
    std::vector<std::int64_t> elements;
    each_in(shape, cells_, [&](const Extent&, int, std::int64_t at) { elements.push_back(at - shape.origin); });
    std::shuffle(elements.begin(), elements.end(), std::mt19937(seed));
    return elements_of(std::move(elements));
  }

  /// Pattern in which each block sends to the next.
  Listed pattern(const Ends& ends, Op op) const {
    const auto blocks = static_cast<std::int64_t>(grid_->blocks().size());
    std::vector<Transfer> all;
    for (std::int64_t id = 0; id < blocks; ++id)
      all.push_back({id, (id + 1) % blocks, ends.listed_source ? shuffled(1) : cells_,
                     ends.listed_target ? shuffled(2) : cells_, op});
    return Listed(all, op);
  }

  static double value(std::int64_t block, std::size_t at) {
    return static_cast<double>((block * 37 + static_cast<std::int64_t>(at) * 11) % 101) - 50;
  }

  static std::vector<std::int64_t> places(const IndexSet& set, const BlockShape& shape) {
    std::vector<std::int64_t> all;
    if (set.ids) {
      for (const std::int64_t id : *set.ids) all.push_back(shape.origin + id);
    } else {
      each_in(shape, set, [&](const Extent&, int, std::int64_t at) { all.push_back(at); });
    }
    return all;
  }

  void expect_moved(const Ends& ends, Op op, const Coding& coding) {
    const Listed listed = pattern(ends, op);
    Field from(*grid_, values_), to(*grid_, values_);
    const auto filled = [&](std::int64_t block) {
      std::vector<double> all(static_cast<std::size_t>(block_shape({34, 18, 10}, values_).elements));
      for (std::size_t n = 0; n < all.size(); ++n) all[n] = value(block, n);
      return all;
    };
    Exchange exchange(comm_, *grid_, {{&listed, &from, &to, false, coding}}, options_);
    std::vector<Stream> streams = streams_of(*grid_);
    const auto blocks = static_cast<std::int64_t>(grid_->blocks().size());
    for (int round = 1; round <= 3; ++round) {
      for (const std::int64_t id : grid_->local()) {
        set_array(from, id, filled(id));
        set_array(to, id, filled(id));
      }
      exchange_once(exchange, streams, round);
      for (const std::int64_t id : grid_->local()) {
        const std::int64_t source = (id + blocks - 1) % blocks;
        const std::vector<double> sent = filled(source);
        std::vector<double> wanted = filled(id);
        const Transfer& t = listed.all()[static_cast<std::size_t>(source)];
        const auto read = places(t.source, to.shape(id)), written = places(t.target, to.shape(id));
        for (std::size_t n = 0; n < read.size(); ++n) {
          double& mine = wanted[static_cast<std::size_t>(written[n])];
          mine = sent[static_cast<std::size_t>(read[n])] + (op == Op::add ? mine : 0);
        }
        const std::vector<double> have = array_of<double>(to, id);
        for (const std::int64_t at : written)
          ASSERT_EQ(have[static_cast<std::size_t>(at)], wanted[static_cast<std::size_t>(at)])
              << "element " << at << " of block " << id << " in round " << round << ", listed at the "
              << (ends.listed_source ? ends.listed_target ? "source and the target" : "source" : "target") << ", "
              << to_string(coding);
      }
    }
  }

  Communicator comm_ = Communicator::world();
  std::optional<Machine> machine_;
  std::optional<Grid> grid_;
  FieldOptions values_;
  ExchangeOptions options_;
  const Halo halo_{{}};
  const IndexSet cells_{{{1, 2, 0}, {33, 17, 9}}, {1, 0}, nullptr};
};

TEST_P(ListsAndBoxes, MoveTheSameValuesWhole) {
  options_.knobs.chunk = 0;
  for (const Ends& ends : all_ends) expect_moved(ends, Op::copy, {});
}

TEST_P(ListsAndBoxes, MoveTheSameValuesInChunks) {
  for (const Ends& ends : all_ends) expect_moved(ends, Op::copy, {});
}

TEST_P(ListsAndBoxes, MoveTheSameValuesThroughAShortRing) {
  options_.knobs.ring = 1 << 15;
  for (const Ends& ends : all_ends) expect_moved(ends, Op::copy, {});
}

TEST_P(ListsAndBoxes, MoveTheSameValuesStoredInPlace) {
  options_.knobs.in_place = 0;
  for (const Ends& ends : all_ends) expect_moved(ends, Op::copy, {});
}

/// The values are whole numbers, which all of these codings keep exactly.
TEST_P(ListsAndBoxes, MoveTheSameValuesInCodings) {
  const Coding cast{Coding::Kind::cast}, floats{.kind = Coding::Kind::blockfloat, .rate = 16},
      planes{.kind = Coding::Kind::zfp, .rate = 48, .block = 4};
  for (const Coding& coding : {cast, floats, planes})
    for (const Ends& ends : all_ends) expect_moved(ends, Op::copy, coding);
}

TEST_P(ListsAndBoxes, AddTheSameValues) {
  for (const Coding& coding :
       {Coding{}, Coding{Coding::Kind::cast}, Coding{.kind = Coding::Kind::blockfloat, .rate = 16}})
    for (const Ends& ends : all_ends) expect_moved(ends, Op::add, coding);
}

INSTANTIATE_TEST_SUITE_P(Routes, ListsAndBoxes,
                         testing::Combine(testing::ValuesIn(backends_here()),
                                          testing::Range<std::size_t>(0, all_ways().size())),
                         [](const auto& info) { return name_of(std::get<0>(info.param), std::get<1>(info.param)); });

}  // namespace
}  // namespace slipstream
