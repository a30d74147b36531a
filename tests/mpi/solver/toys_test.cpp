// The message protocol of exchanges supports halo, transpose and gather-scatter. Runs minimal patterns on every route,
// also with messages longer than their ring buffer, and without host synchronisation between exchanges.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <set>

#include "support/exchange_rig.hpp"

namespace slipstream {
namespace {

/// A transpose whose blocks begin as slabs in z and end as slabs in y: block j gets block i's share of its y range.
/// Components 0 and 1 are sent; as boxes they arrive in components 2 and 3.
class Slabs final : public Pattern {
 public:
  Slabs(bool listed, bool one_way) : listed_(listed), one_way_(one_way) {}
  std::string name() const override { return "slabs"; }
  std::vector<Transfer> transfers(const Grid& grid, int, const Extent&, int rank) const override {
    std::vector<Transfer> found;
    const auto count = static_cast<std::int64_t>(grid.blocks().size());
    for (std::int64_t i = 0; i < count; ++i)
      for (std::int64_t j = 0; j < count; ++j) {
        if (one_way_ && j < i) continue;
        if (grid.block(i).rank != rank && grid.block(j).rank != rank) continue;
        found.push_back(listed_ ? as_list(grid, i, j) : as_box(grid, i, j));
      }
    return found;
  }
  static Box part(const Grid& grid, std::int64_t block, std::int64_t of) {
    const Extent e = grid.block(block).box.extents();
    const auto count = static_cast<std::int64_t>(grid.blocks().size());
    Box box = piece({{0, 0, 0}, {e[0], grid.extent()[1], e[2]}}, {1, count, 1}, {0, of, 0});
    return box;
  }
  /// Index of a cell's value in the array of a transpose's target block, stored as [x][y][z] from component 2's offset
  /// on. The blocks of the source are slabs in z, so each line along z arrives from all of them.
  static std::int64_t line_element(const Grid& grid, const BlockShape& to, std::int64_t j, const Extent& global) {
    const Box mine = part(grid, j, j);
    return 2 * to.component_stride + (global[0] * mine.extent(1) + global[1] - mine.lo[1]) * grid.extent()[2] +
           global[2];
  }
  static FieldOptions field(bool listed, Layout layout) {
    FieldOptions options;
    options.name = "slabs";
    options.type = listed ? DType::i64 : DType::f64;
    options.components = 4;
    options.layout = layout;
    options.alignment = 1;
    options.shared = true;
    return options;
  }

 private:
  static Transfer as_box(const Grid& grid, std::int64_t i, std::int64_t j) {
    return {i, j, {part(grid, i, j), {0, 1}, nullptr}, {part(grid, j, i), {2, 3}, nullptr}, Op::copy};
  }
  /// A transfer of component 0 only, as a list of cells.
  static Transfer as_list(const Grid& grid, std::int64_t i, std::int64_t j) {
    const auto from = std::make_shared<std::vector<std::int64_t>>(), to = std::make_shared<std::vector<std::int64_t>>();
    const BlockShape a = block_shape(grid.block(i).box.extents(), field(true, Layout::soa)),
                     b = block_shape(grid.block(j).box.extents(), field(true, Layout::soa));
    const std::int64_t z0 = grid.block(i).box.lo[2];
    each_in(a, {part(grid, i, j), {0}, nullptr}, [&](const Extent& p, int, std::int64_t at) {
      from->push_back(at - a.origin);
      to->push_back(line_element(grid, b, j, {p[0], p[1], p[2] + z0}));
    });
    return {i, j, {{}, {}, from}, {{}, {}, to}, Op::copy};
  }
  bool listed_, one_way_;
};

/// Points shared by several blocks: each block sends its copies to all other sharers and adds theirs.
class SharedPoints final : public Pattern {
 public:
  static constexpr std::int64_t row = 32, rows = 4;
  SharedPoints(std::int64_t blocks, unsigned seed, Op op) : op_(op), points_(blocks) {
    std::mt19937 random(seed);
    std::vector<std::int64_t> order(static_cast<std::size_t>(blocks));
    std::iota(order.begin(), order.end(), 0);
    for (std::int64_t point = 0; room(blocks); ++point) {
      std::shuffle(order.begin(), order.end(), random);
      auto sharers = 1 + random() % std::min<std::size_t>(order.size(), 6);
      for (const std::int64_t block : order) {
        if (sharers == 0) break;
        if (points_[block].size() == row * rows) continue;
        points_[block].push_back(point);
        --sharers;
      }
    }
    for (auto& points : points_) std::shuffle(points.begin(), points.end(), random);
  }
  std::string name() const override { return "shared points"; }
  Op op() const override { return op_; }
  /// Indices of the points in a block, in the order of its cells; other blocks may hold copies of the same points.
  const std::vector<std::int64_t>& points(std::int64_t block) const { return points_[block]; }
  static Extent cell(std::size_t place) {
    return {static_cast<std::int64_t>(place) % row, static_cast<std::int64_t>(place) / row, 0};
  }
  std::vector<Transfer> transfers(const Grid& grid, int, const Extent&, int rank) const override {
    const BlockShape shape = block_shape({row, rows, 1}, field());
    std::vector<std::map<std::int64_t, std::size_t>> place_of(points_.size());
    for (std::size_t b = 0; b < points_.size(); ++b)
      for (std::size_t n = 0; n < points_[b].size(); ++n) place_of[b][points_[b][n]] = n;
    std::vector<Transfer> found;
    for (std::size_t i = 0; i < points_.size(); ++i)
      for (std::size_t j = 0; j < points_.size(); ++j) {
        if (i == j || (grid.block(i).rank != rank && grid.block(j).rank != rank)) continue;
        const auto from = std::make_shared<std::vector<std::int64_t>>(),
                   to = std::make_shared<std::vector<std::int64_t>>();
        for (const auto& [point, place] : place_of[i]) {
          const auto there = place_of[j].find(point);
          if (there == place_of[j].end()) continue;
          from->push_back(element(shape, 0, cell(place)) - shape.origin);
          to->push_back(element(shape, 0, cell(there->second)) - shape.origin);
        }
        if (from->empty()) continue;
        found.push_back(
            {static_cast<std::int64_t>(i), static_cast<std::int64_t>(j), {{}, {}, from}, {{}, {}, to}, op_});
      }
    return found;
  }
  static FieldOptions field() {
    FieldOptions options;
    options.name = "points";
    options.type = DType::f64;
    options.shared = true;
    return options;
  }

 private:
  bool room(std::int64_t blocks) const {
    std::size_t held = 0;
    for (const auto& points : points_) held += points.size();
    return held < static_cast<std::size_t>(blocks * row * rows);
  }
  Op op_;
  std::vector<std::vector<std::int64_t>> points_;
};

/// Adds random delays in host streams that are created during its lifetime; the streams must be destroyed first.
class Chaos {
 public:
  explicit Chaos(int seed) {
    if (seed > 0 && !std::getenv(name)) set_ = setenv(name, std::to_string(seed).c_str(), 1) == 0;
  }
  ~Chaos() {
    if (set_) unsetenv(name);
  }
  Chaos(const Chaos&) = delete;
  Chaos& operator=(const Chaos&) = delete;

 private:
  static constexpr const char* name = "SLIPSTREAM_CHAOS";
  bool set_ = false;
};

struct StepTuning {
  const char* name;
  Knobs knobs;
};

std::vector<StepTuning> tunings() {
  std::vector<StepTuning> list(5);
  list[0].name = "by_size";
  list[1].name = "short_rings";
  list[1].knobs.chunk = 1 << 10;
  list[1].knobs.ring = 4 << 10;
  list[1].knobs.in_place = std::int64_t{1} << 40;
  list[1].knobs.packet_limit = 0;
  list[2].name = "two_slots_one_team";
  list[2].knobs = list[1].knobs;
  list[2].knobs.ring = 1;
  list[2].knobs.teams = 1;
  list[3].name = "in_place";
  list[3].knobs.in_place = 0;
  list[3].knobs.packet_limit = 0;
  list[4].name = "one_stream";
  list[4].knobs.streams = Lanes::one;
  list[4].knobs.sync = true;
  return list;
}

using Arrays = std::map<std::int64_t, std::vector<double>>;  // all array values by block id
using Whole = std::map<std::int64_t, std::vector<std::int64_t>>;

/// Test case: index in all_ways() of the routes of messages, and index in tunings() of the tuning parameters.
using Case = std::pair<std::size_t, std::size_t>;

/// Tests of all sets of routes, with the first two sets of tuning parameters, and with others that affect the routes.
std::vector<Case> cases(bool few) {
  using R = RouteKind;
  const auto ways = all_ways();
  std::vector<Case> found;
  for (std::size_t w = 0; w < ways.size(); ++w) {
    const auto& routes = ways[w].routes;
    const auto has = [&](R kind) { return std::find(routes.begin(), routes.end(), kind) != routes.end(); };
    for (std::size_t t = 0; t < (few ? 2 : tunings().size()); ++t) {
      const bool slots = t == 2 || t == 3, lanes = t == 4;
      if (slots && (!has(R::direct) || ways[w].devices == 1)) continue;
      if (lanes && (has(R::direct) || ways[w].devices == 1)) continue;
      found.push_back({w, t});
    }
  }
  return found;
}

class Toys : public testing::TestWithParam<std::tuple<Backend, Case, int>> {
 protected:
  static constexpr int rounds = 20;
  static inline const std::vector<Way> ways = all_ways();
  static inline const std::vector<StepTuning> table = tunings();
  Backend backend = std::get<0>(GetParam());
  const Way& way = ways[std::get<1>(GetParam()).first];
  const StepTuning& tuning = table[std::get<1>(GetParam()).second];
  Chaos chaos{std::get<2>(GetParam())};
  Communicator comm = Communicator::world();
  std::optional<Grid> grid;

  std::string lay_out(const Pattern* pattern, const FieldOptions& field, const Grid& on) {
    options.routes = way.routes;
    options.knobs = tuning.knobs;
    options.knobs.grouping = way.grouping;
    return refusal_of(on, {{pattern, field}}, options);
  }

  Stream& stream_of(const Field& field, std::int64_t block, std::vector<Stream>& streams) const {
    for (Stream& stream : streams)
      if (stream.device() == field.device(block)) return stream;
    return streams.front();
  }

  /// Queues all exchanges in sequence, without waits. Returns the array values of each block after each exchange.
  template <class All, class Begin>
  std::vector<All> run(const Pattern& pattern, Field& field, const Begin& values_of) {
    std::vector<All> before(rounds), after(rounds);
    for (int round = 0; round < rounds; ++round)
      for (const std::int64_t id : grid->local()) {
        before[round][id] = values_of(id, round);
        after[round][id].resize(before[round][id].size());
      }
    Exchange exchange(comm, *grid, {{&pattern, &field}}, options);
    std::vector<Stream> streams = streams_of(*grid);
    for (int round = 0; round < rounds; ++round) {
      for (const auto& [id, values] : before[round])
        copy(stream_of(field, id, streams), field.data(id), values.data(), values.size() * sizeof(values[0]));
      if (round % 3 == 0) {
        exchange.run(streams);
      } else {
        exchange.begin(streams);
        exchange.end(streams);
      }
      for (auto& [id, values] : after[round])
        copy(stream_of(field, id, streams), values.data(), field.data(id), values.size() * sizeof(values[0]));
    }
    finish(streams);
    exchange.check();
    return after;
  }

  Grid slabs(std::int64_t rows_each, std::int64_t more_rows) const {
    const Machine machine = machine_here(backend, way);
    const std::int64_t count = machine.devices();
    const Extent cells{32, rows_each * count + more_rows, 4 * count};
    GridOptions grid_options;
    grid_options.boxes = dealt_blocks(cells, {1, 1, count}, machine.devices());
    return Grid(cells, machine, comm.rank(), grid_options);
  }

  void transpose(bool one_way, Layout layout) {
    if (const auto why = unavailable(backend, way); !why.empty()) GTEST_SKIP() << why;
    const Slabs pattern(false, one_way);
    grid.emplace(slabs(4, 0));
    const FieldOptions field_options = Slabs::field(false, layout);
    if (const auto why = lay_out(&pattern, field_options, *grid); !why.empty()) GTEST_SKIP() << why;
    Field field(*grid, field_options);
    const auto value = [](std::int64_t block, const Extent& p, int c, int round) {
      return static_cast<double>((((block * 61 + round) * 40 + p[2]) * 300 + p[1]) * 40 + p[0]) + 0.25 * c;
    };
    const auto start = [&](std::int64_t id, int round) {
      std::vector<double> values(static_cast<std::size_t>(field.shape(id).elements));
      each_in(field.shape(id), {{{0, 0, 0}, grid->block(id).box.extents()}, {0, 1, 2, 3}, nullptr},
              [&](const Extent& p, int c, std::int64_t at) { values[at] = value(id, p, c, round); });
      return values;
    };
    const auto after = run<Arrays>(pattern, field, start);
    for (int round = 0; round < rounds; ++round)
      for (const auto& [id, have] : after[round]) {
        std::vector<double> want = start(id, round);
        for (const Block& from : grid->blocks()) {
          if (one_way && id < from.id) continue;
          const Box there = Slabs::part(*grid, from.id, id);
          const Box here = Slabs::part(*grid, id, from.id);
          each_in(field.shape(id), {here, {2, 3}, nullptr}, [&](const Extent& p, int c, std::int64_t at) {
            want[at] = value(from.id, {p[0], p[1] - here.lo[1] + there.lo[1], p[2]}, c - 2, round);
          });
        }
        EXPECT_TRUE(have == want) << "block " << id << " in round " << round;
      }
  }

  ExchangeOptions options;
};

TEST_P(Toys, TransposeBothWays) { transpose(false, Layout::soa); }

TEST_P(Toys, TransposeOneWay) { transpose(true, Layout::soa); }

TEST_P(Toys, TransposeOfMixedComponents) { transpose(true, Layout::aos); }

TEST_P(Toys, TransposeByLists) {
  if (const auto why = unavailable(backend, way); !why.empty()) GTEST_SKIP() << why;
  const Slabs pattern(true, false);
  grid.emplace(slabs(3, 1));
  const FieldOptions field_options = Slabs::field(true, Layout::soa);
  if (const auto why = lay_out(&pattern, field_options, *grid); !why.empty()) GTEST_SKIP() << why;
  Field field(*grid, field_options);
  const auto number = [&](const Extent& p) { return (p[2] * grid->extent()[1] + p[1]) * grid->extent()[0] + p[0]; };
  const auto start = [&](std::int64_t id, int round) {
    std::vector<std::int64_t> values(static_cast<std::size_t>(field.shape(id).elements), -1);
    each_in(field.shape(id), {{{0, 0, 0}, grid->block(id).box.extents()}, {0}, nullptr},
            [&](const Extent& p, int, std::int64_t at) {
              values[at] = number({p[0], p[1], p[2] + grid->block(id).box.lo[2]}) * rounds + round;
            });
    return values;
  };
  const auto after = run<Whole>(pattern, field, start);
  for (int round = 0; round < rounds; ++round)
    for (const auto& [id, have] : after[round]) {
      std::vector<std::int64_t> want = start(id, round);
      Box lines = Slabs::part(*grid, id, id);
      lines.lo[2] = 0, lines.hi[2] = grid->extent()[2];
      each_in(field.shape(id), {lines, {0}, nullptr}, [&](const Extent& p, int, std::int64_t) {
        want[field.shape(id).origin + Slabs::line_element(*grid, field.shape(id), id, p)] = number(p) * rounds + round;
      });
      EXPECT_TRUE(have == want) << "block " << id << " in round " << round;
    }
}

TEST_P(Toys, SumOverSharedPoints) {
  if (const auto why = unavailable(backend, way); !why.empty()) GTEST_SKIP() << why;
  const Machine machine = machine_here(backend, way);
  const std::int64_t blocks = 2 * machine.devices() + 1;
  const Extent cells{SharedPoints::row, SharedPoints::rows, blocks};
  GridOptions grid_options;
  grid_options.boxes = dealt_blocks(cells, {1, 1, blocks}, machine.devices());
  grid.emplace(cells, machine, comm.rank(), grid_options);
  const SharedPoints pattern(blocks, 17u + static_cast<unsigned>(std::get<2>(GetParam())), Op::add);
  if (const auto why = lay_out(&pattern, SharedPoints::field(), *grid); !why.empty()) GTEST_SKIP() << why;
  Field field(*grid, SharedPoints::field());
  const auto value = [](std::int64_t block, std::int64_t point, int round) {
    return fraction(scrambled(static_cast<std::uint64_t>(block), static_cast<std::uint64_t>(point), round));
  };
  const auto start = [&](std::int64_t id, int round) {
    std::vector<double> values(static_cast<std::size_t>(field.shape(id).elements));
    for (std::size_t n = 0; n < pattern.points(id).size(); ++n)
      values[element(field.shape(id), 0, SharedPoints::cell(n))] = value(id, pattern.points(id)[n], round);
    return values;
  };
  std::map<std::int64_t, std::vector<std::int64_t>> sharers;  // blocks that share a point, ascending, by point
  for (std::int64_t block = 0; block < blocks; ++block)
    for (const std::int64_t point : pattern.points(block)) sharers[point].push_back(block);
  const auto after = run<Arrays>(pattern, field, start);
  for (int round = 0; round < rounds; ++round)
    for (const auto& [id, have] : after[round]) {
      int wrong = 0;
      for (std::size_t n = 0; n < pattern.points(id).size(); ++n) {
        const std::int64_t point = pattern.points(id)[n];
        double sum = value(sharers[point].front(), point, round);
        for (std::size_t s = 1; s < sharers[point].size(); ++s) sum += value(sharers[point][s], point, round);
        wrong += have[element(field.shape(id), 0, SharedPoints::cell(n))] != sum;
      }
      EXPECT_EQ(wrong, 0) << "points of block " << id << " in round " << round;
    }
}

std::string name_of(const testing::TestParamInfo<Toys::ParamType>& info) {
  const int seed = std::get<2>(info.param);
  return to_string(std::get<0>(info.param)) + "_" + all_ways()[std::get<1>(info.param).first].name + "_" +
         tunings()[std::get<1>(info.param).second].name + (seed ? "_chaos_" + std::to_string(seed) : "");
}

INSTANTIATE_TEST_SUITE_P(Routes, Toys,
                         testing::Combine(testing::ValuesIn(backends_here()), testing::ValuesIn(cases(false)),
                                          testing::Values(0)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Chaos, Toys,
                         testing::Combine(testing::Values(Backend::host), testing::ValuesIn(cases(true)),
                                          testing::Range(1, 3)),
                         name_of);

}  // namespace
}  // namespace slipstream
