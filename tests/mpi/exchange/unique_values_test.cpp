// Tests Q^T, which combines the copies of each point's value, and Q, which distributes it, against a reduction on the
// host. Combined (unique) values have the same bits as from run(), in the same order of points on any devices.
#include <gtest/gtest.h>

#include "support/expect_error.hpp"
#include "support/failing_allocations.hpp"
#include "support/gather_scatter_rig.hpp"

namespace slipstream::shared_points {
namespace {

/// First point of each id, ascending.
std::vector<std::int64_t> first_points(const Domain& domain) {
  std::map<std::int64_t, std::int64_t> first;
  for (std::int64_t n = 0; n < domain.points(); ++n)
    if (const std::int64_t id = domain.ids[static_cast<std::size_t>(n)]) first.try_emplace(id, n);
  std::vector<std::int64_t> points;
  for (const auto& [id, point] : first) points.push_back(point);
  std::sort(points.begin(), points.end());
  return points;
}

template <class T>
bool same_bits(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

class UniqueValues : public GatherScatterOn {
 protected:
  std::unique_ptr<GatherScatter> made_unique(const Dealt& dealt, DType type, int components,
                                             const Coding& coding = {}) const {
    GatherScatterOptions options;
    options.type = type;
    options.components = components;
    options.coding = coding;
    options.unique = true;
    return made(dealt, options);
  }

  /// For each device of this rank, the first point of every id that the device owns, from the C++ interface.
  std::vector<std::vector<std::int64_t>> owned(const GatherScatter& gs, const Dealt& dealt) const {
    std::vector<std::vector<std::int64_t>> points(dealt.devices());
    for (std::size_t d = 0; d < dealt.devices(); ++d)
      for (const std::uint32_t point : gs.unique_points(d)) points[d].push_back(dealt.point(d, point));
    return points;
  }

  /// Concatenates the lists of points of all ranks.
  std::vector<std::int64_t> of_all_ranks(const std::vector<std::vector<std::int64_t>>& points) const {
    std::string mine;
    for (const auto& list : points)
      mine.append(reinterpret_cast<const char*>(list.data()), list.size() * sizeof(std::int64_t));
    std::vector<std::int64_t> all;
    for (const std::string& text : comm.all_gather(mine)) {
      const std::size_t before = all.size();
      all.resize(before + text.size() / sizeof(std::int64_t));
      std::memcpy(all.data() + before, text.data(), text.size());
    }
    return all;
  }

  template <class T>
  void check_alone(const Domain& domain, int components, const std::vector<Op>& ops, const Coding& coding = {},
                   const Turn<T>& turn = {}) {
    const Dealt dealt(domain, *machine, comm.rank());
    const auto gs = made_unique(dealt, dtype_of<T>(), components, coding);
    const auto points = owned(*gs, dealt);
    // All ranks' points make one list on any number of devices: each id once, in the order of first points.
    ASSERT_EQ(of_all_ranks(points), first_points(domain));

    Arrays<T> arrays(dealt, streams, components);
    Uniques<T> unique(*gs, streams, components);
    int round = 0;
    for (const Op op : ops) {
      arrays.fill(dealt, streams, ++round);
      if (round % 2) {
        gs->gather(streams, arrays.all, unique.all, op);
      } else {
        gs->start_gather(streams, arrays.all, unique.all, op);
        gs->finish(streams);
      }
      unique.fetch(streams);
      arrays.fetch(streams);
      gs->check();
      for (int c = 0; c < components; ++c) {
        const std::map<std::int64_t, T> right = expected<T>(domain, c, round, op, turn);
        for (std::size_t d = 0; d < dealt.devices(); ++d)
          for (std::size_t k = 0; k < points[d].size(); ++k) {
            const std::int64_t id = domain.ids[static_cast<std::size_t>(points[d][k])];
            ASSERT_TRUE(same_bits(unique.at(d, c, k), right.at(id)))
                << unique.at(d, c, k) << ", not " << right.at(id) << ": id " << id << ", component " << c
                << ", operation " << static_cast<int>(op);
          }
      }
      // gather() must leave the arrays of point values unchanged.
      expect_given(dealt, arrays, round);

      // scatter() after gather() equals run().
      gs->scatter(streams, unique.all, arrays.all);
      arrays.fetch(streams);
      gs->check();
      expect_right(domain, dealt, arrays, round, op, turn);
    }
    scatter_others(domain, dealt, *gs, points, arrays, unique);
  }

  template <class T>
  static void expect_given(const Dealt& dealt, const Arrays<T>& arrays, int round) {
    for (int c = 0; c < arrays.components; ++c)
      for (std::size_t d = 0; d < dealt.devices(); ++d)
        for (std::size_t n = 0; n < dealt.count(d); ++n)
          ASSERT_TRUE(same_bits(arrays.here[d].data()[static_cast<std::size_t>(c) * dealt.count(d) + n],
                                value_of<T>(dealt.point(d, n), c, round)));
  }

  /// Scatters values that no gather produced.
  template <class T>
  void scatter_others(const Domain& domain, const Dealt& dealt, GatherScatter& gs,
                      const std::vector<std::vector<std::int64_t>>& points, Arrays<T>& arrays, Uniques<T>& unique) {
    constexpr int before = 91, scattered = 92;
    arrays.fill(dealt, streams, before);
    const auto id_of = [&](std::int64_t point) { return domain.ids[static_cast<std::size_t>(point)]; };
    for (std::size_t d = 0; d < dealt.devices(); ++d)
      for (int c = 0; c < unique.components; ++c)
        for (std::size_t k = 0; k < points[d].size(); ++k)
          unique.at(d, c, k) = value_of<T>(id_of(points[d][k]), c, scattered);
    unique.store(streams);
    gs.start_scatter(streams, unique.all, arrays.all);
    gs.finish(streams);
    arrays.fetch(streams);
    gs.check();
    for (std::size_t d = 0; d < dealt.devices(); ++d)
      for (int c = 0; c < arrays.components; ++c)
        for (std::size_t n = 0; n < dealt.count(d); ++n) {
          const std::int64_t point = dealt.point(d, n), id = id_of(point);
          const T want = id ? value_of<T>(id, c, scattered) : value_of<T>(point, c, before);
          ASSERT_TRUE(same_bits(arrays.here[d].data()[static_cast<std::size_t>(c) * dealt.count(d) + n], want))
              << "point " << point << " of id " << id;
        }
  }
};

TEST_P(UniqueValues, AreGatheredInTheOrderOfBlocksAndScatteredToAllCopies) {
  check_alone<double>(Domain::random(37, 3), 1, {Op::add, Op::min, Op::add, Op::max, Op::add, Op::multiply});
  check_alone<float>(Domain::random(3 * machine->devices(), 5), 3, {Op::add, Op::max});
  check_alone<std::int64_t>(Domain::random(21, 7), 2, {Op::multiply});
  check_alone<std::complex<double>>(Domain::random(21, 13), 2, {Op::add});
}

TEST_P(UniqueValues, AreOfRoundedBlocksAndAreScatteredAsTheyAre) {
  check_alone<double>(Domain::random(37, 3), 2, {Op::add, Op::max}, Coding{Coding::Kind::cast},
                      [](double value) { return static_cast<double>(static_cast<float>(value)); });
}

TEST_P(UniqueValues, OfDevicesWithoutPointsOrSharers) {
  // a domain of one block, so that all devices but one are empty
  check_alone<double>(Domain::random(1, 9), 1, {Op::add});
  check_alone<double>(Domain{8, std::vector<std::int64_t>(8 * block_points, 0)}, 1, {Op::add});
  Domain apart{8, {}};
  for (std::int64_t n = 0; n < apart.points(); ++n) apart.ids.push_back(apart.points() - n);
  check_alone<double>(apart, 2, {Op::add});
}

/// The owner receives one value per block on another device, and sends one value per device that needs it.
TEST_P(UniqueValues, TravelOnceEachWay) {
  const int devices = machine->devices();
  Domain domain{2 * devices, std::vector<std::int64_t>(static_cast<std::size_t>(2 * devices * block_points), 0)};
  for (std::int64_t block = 0; block < domain.blocks; ++block)  // the same id stands three times in each block
    for (const int n : {0, 5, 9}) domain.ids[static_cast<std::size_t>(block * block_points + n)] = 42;
  const Dealt dealt(domain, *machine, comm.rank());
  const auto gs = made_unique(dealt, DType::f64, 1);
  for (std::size_t d = 0; d < dealt.devices(); ++d) {
    const bool owner = machine->devices_of_rank(comm.rank())[d] == 0;
    const GatherScatter::Counts counts = gs->counts(d);
    EXPECT_EQ(counts.unique_ids, owner ? 1 : 0);
    EXPECT_EQ(counts.gathered_values, owner ? 0 : 2);
    EXPECT_EQ(counts.scattered_values, owner ? devices - 1 : 0);
  }
}

TEST_P(UniqueValues, ThatCannotBeMadeOnOneRankAreRefusedOnAll) {
  const Domain domain = Domain::random(2 * machine->devices(), 11);
  const Dealt dealt(domain, *machine, comm.rank());
  EXPECT_GT(each_allocation_fails(
                comm, [&] { made_unique(dealt, DType::f64, 1); }, [] {}),
            1);
}

INSTANTIATE_TEST_SUITE_P(Routes, UniqueValues,
                         testing::Combine(testing::ValuesIn(backends_here()),
                                          testing::Range<std::size_t>(0, all_ways().size())),
                         [](const auto& info) { return name_of(std::get<0>(info.param), std::get<1>(info.param)); });

TEST(UniqueValuesRefuse, WhatDoesNotFitTheirCalls) {
  const Communicator comm = Communicator::world();
  const Machine machine = machine_here(Backend::host, 1);
  const std::vector<std::int64_t> ids{1, 1, 2};
  std::vector<Stream> streams;
  streams.emplace_back(machine.device(comm.rank()).local);
  Buffer<double> points(streams[0].device(), 3), values(streams[0].device(), 2);
  const std::vector<GatherScatter::Array> arrays{{points.data(), 0}}, unique{{values.data(), 0}};
  GatherScatter without(comm, machine, {{ids, comm.rank(), block_points}});
  for (const auto& error : {error_of([&] { without.gather(streams, arrays, unique); }),
                            error_of([&] { without.scatter(streams, unique, arrays); })})
    expect_error(error, ErrorCode::wrong_state, {{"option", "unique"}});

  GatherScatterOptions options;
  options.unique = true;
  GatherScatter gs(comm, machine, {{ids, comm.rank(), block_points}}, options);
  expect_error([&] { gs.gather(streams, arrays, unique, Op::copy); }, ErrorCode::invalid_argument, {{"option", "op"}});
  expect_error([&] { gs.gather(streams, arrays, {}); }, ErrorCode::mismatch,
               {{"kind", "unique values"}, {"arrays", 0}, {"needed", 1}});
  // The other ranks own no id.
  const auto error = error_of([&] { gs.scatter(streams, {{nullptr, 0}}, arrays); });
  if (comm.rank() == 0) {
    expect_error(error, ErrorCode::invalid_argument, {{"array", 0}, {"kind", "unique values"}, {"problem", "null"}});
  } else {
    expect_error(error, ErrorCode::mismatch, {{"rank", 0}, {"call", "scatter as call 2"}});
  }
  gs.start_gather(streams, arrays, unique);
  expect_error([&] { gs.scatter(streams, unique, arrays); }, ErrorCode::wrong_state, {{"problem", "started_again"}});
  gs.finish(streams);
  expect_error([&] { gs.finish(streams); }, ErrorCode::wrong_state, {{"problem", "not_started"}});
  streams[0].synchronize();  // waits, because queued work must end before its arrays are freed

  GatherScatterOptions one = options;
  one.unique = comm.rank() != 1;
  if (comm.size() == 1) return;
  const auto differs = error_of([&] { GatherScatter(comm, machine, {{ids, comm.rank(), block_points}}, one); });
  expect_error(differs, ErrorCode::mismatch, {{"rank", 1}});
  EXPECT_NE(differs->fact("first").find("with unique values"), std::string::npos) << differs->fact("first");
}

}  // namespace
}  // namespace slipstream::shared_points
