// Coded items: halos, adjoints and transposes on every route, compared with transfers on the host that round by
// themselves. The host codes boxes of zfp one by one; zfp_test.cpp compares these with the library.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <map>

#include <slipstream/transpose.hpp>

#include "coding/wire.hpp"
#include "support/coded_box.hpp"
#include "support/exchange_rig.hpp"
#include "support/expect_error.hpp"
#include "support/own_coding.hpp"

namespace slipstream {
namespace {

/// A number format and its coding.
struct Cast {
  const char* name;
  DType type;
  Coding coding;
  int bits = 0;         ///< number of significand bits of the narrow format; 0: block coding
  int least = 0;        ///< exponent of the smallest normal number
  double greatest = 0;  ///< largest finite number of the format to which values are cast

  bool blocks() const { return bits == 0; }
};

const std::vector<Cast>& casts() {
  static const std::vector<Cast> list{
      {"f64_to_f32", DType::f64, {Coding::Kind::cast}, 24, -126, std::numeric_limits<float>::max()},
      {"f32_to_f16", DType::f32, {Coding::Kind::cast}, 11, -14, 65504},
      {"f32_to_bf16", DType::f32, {Coding::Kind::cast, Narrow::bf16}, 8, -126, 0x1.fep127},
      {"c128_to_f32", DType::c128, {Coding::Kind::cast, Narrow::f32}, 24, -126, std::numeric_limits<float>::max()},
      {"f64_by_blockfloat", DType::f64, coding_from_string("blockfloat, rate 16")},
      {"f32_by_zfp", DType::f32, coding_from_string("zfp, rate 16")},
      {"c64_by_blockfloat", DType::c64, coding_from_string("blockfloat, rate 12")},
      {"c128_by_zfp", DType::c128, coding_from_string("zfp, rate 24")},
      {"f32_by_own", DType::f32, coding_from_string("own " + own_bf16()), 8, -126, 0x1.fep127},
  };
  return list;
}

/// Rounds to a number of bits, ties to even, by scaling: a method that differs from the kernels.
double rounded(const Cast& cast, double value) {
  if (std::isnan(value)) return std::numeric_limits<double>::quiet_NaN();
  if (std::isinf(value) || value == 0) return value;
  const int exponent = std::max(std::ilogb(value), cast.least);
  const double unit = std::ldexp(1.0, exponent - cast.bits + 1);
  const double result = std::nearbyint(value / unit) * unit;
  return std::abs(result) > cast.greatest ? std::copysign(std::numeric_limits<double>::infinity(), value) : result;
}

int numbers_of(DType type) { return is_complex(type) ? 2 : 1; }
bool is_single(DType type) { return part_type(type) == DType::f32; }

/// Rounds sixteen numbers with a common exponent, by scaling.
void round_block(std::vector<double*> block, int rate) {
  double largest = 0;
  for (const double* value : block) largest = std::max(largest, std::abs(*value));
  const double unit = largest == 0 ? 1 : std::ldexp(1., std::ilogb(largest) + 3 - rate),
               most = std::ldexp(1., rate - 2) - 1;
  // + 0 turns -0 into 0: multiples of a unit have one zero.
  for (double* value : block) *value = std::clamp(std::nearbyint(*value / unit), -most, most) * unit + 0.0;
}

/// The decoded values of a box of one component in a message.
std::vector<double> arrived_in_blocks(const Cast& cast, std::vector<double> values, const Extent& box, bool turned) {
  const DType type = part_type(cast.type);
  const Wire wire = wire_of(cast.coding, cast.type, "u");
  const CellBlock shape = wire.block_of(box, false, turned);
  if (wire.bytes_of(type, box, shape) >= values.size() * size_of(type)) return values;
  if (wire.kind == Wire::zfp) {
    const Device here{Backend::host, 0};
    if (type == DType::f32) {
      CodedBox<float> coded(here, box, wire);
      const auto back = coded.decoded(coded.encoded({values.begin(), values.end()}));
      return {back.begin(), back.end()};
    }
    CodedBox<double> coded(here, box, wire);
    return coded.decoded(coded.encoded(values));
  }
  const Extent blocks = blocks_of(box, shape);
  std::vector<std::vector<double*>> all(static_cast<std::size_t>(volume(blocks)));
  for (std::size_t n = 0; n < values.size(); ++n) {
    const auto cell = static_cast<std::int64_t>(n);
    const std::int64_t x = cell % box[0], y = cell / box[0] % box[1], z = cell / box[0] / box[1];
    const std::int64_t at = (z / shape.extent[2] * blocks[1] + y / shape.extent[1]) * blocks[0] + x / shape.extent[0];
    all[static_cast<std::size_t>(at)].push_back(&values[n]);
  }
  for (const auto& block : all) round_block(block, wire.rates[0]);
  return values;
}

/// Values of a block's array as doubles.
using Numbers = std::vector<double>;

Numbers numbers_in(const Field& field, std::int64_t block) {
  if (is_single(field.options().type)) {
    const auto values = array_of<float>(field, block);
    return {values.begin(), values.end()};
  }
  return array_of<double>(field, block);
}

void set_numbers(Field& field, std::int64_t block, const Numbers& values) {
  if (!is_single(field.options().type)) return set_array(field, block, values);
  set_array(field, block, std::vector<float>(values.begin(), values.end()));
}

/// Contents of an array before an exchange: numbers of all magnitudes that f16 represents, and some NaN.
Numbers filled(const BlockShape& shape, DType type, std::int64_t block, int round, bool all) {
  Numbers values(static_cast<std::size_t>(shape.elements * numbers_of(type)));
  for (std::size_t n = 0; n < values.size(); ++n) {
    const std::uint64_t bits = scrambled(static_cast<std::uint64_t>(block) + 1, n, static_cast<std::uint64_t>(round));
    const int exponent = static_cast<int>(bits % 37) - 22;
    double value = std::ldexp(fraction(bits), all ? exponent : 3);
    if (all && bits % 97 == 0) value = std::numeric_limits<double>::infinity();
    if (all && bits % 97 == 1) value = std::numeric_limits<double>::quiet_NaN();
    if (all && bits % 97 == 2) value = -0.0;
    // The largest number that f16 rounds to a finite one
    if (all && bits % 97 == 3) value = 65519.99 * (round % 2 ? 1 : -1);
    values[n] = is_single(type) ? static_cast<float>(value) : value;
  }
  return values;
}

struct ErrorsByHand {
  double largest = 0, squares = 0;
  std::int64_t numbers = 0;
};

/// Values of source blocks in one of the test's exchanges, as sent and as decoded; computed once per block.
struct Given {
  std::map<std::int64_t, Numbers> sent, rounded;
  Numbers in_blocks;  ///< decoded values of the last transfer, for codings by blocks
};

/// Expected result of an exchange of one field, or from one field to another, with coded values; computed on the host.
struct ByHand {
  const Cast& cast;
  const Pattern& pattern;
  const Grid &from, &to;
  const FieldOptions &source, &target;
  bool one_field;
  bool coded = true;

  bool all_numbers() const { return pattern.op() == Op::copy && !cast.blocks(); }
  BlockShape shape(bool at_target, std::int64_t id) const {
    return block_shape((at_target ? to : from).block(id).box.extents(), at_target ? target : source);
  }
  Numbers before(bool at_target, std::int64_t id, int round) const {
    const int salt = at_target && !one_field ? 1000 : 0;
    return filled(shape(at_target, id), source.type, id, round + salt, all_numbers());
  }
  /// Values of a transfer's source block.
  const Numbers& sent(Given& given, const Transfer& t, int round) const {
    const auto [found, is_new] = given.sent.try_emplace(t.source_block);
    if (is_new) found->second = before(false, t.source_block, round);
    return found->second;
  }
  /// The values of a source array as a transfer delivers them.
  const Numbers& arriving(Given& given, const Transfer& t, int round) const {
    const Numbers& values_sent = sent(given, t, round);
    if (!coded) return values_sent;
    if (!cast.blocks()) {
      const auto [found, is_new] = given.rounded.try_emplace(t.source_block);
      if (is_new)
        for (const double value : values_sent) found->second.push_back(rounded(cast, value));
      return found->second;
    }
    Numbers& all = given.in_blocks = values_sent;
    const BlockShape in = shape(false, t.source_block);
    const Extent box = by_rows(source.layout, t.source.box.extents());
    const bool turned = t.axes[static_cast<std::size_t>(row_axis(source.layout))] != row_axis(target.layout);
    const int numbers = numbers_of(source.type);
    for (const int component : t.source.components)
      for (int i = 0; i < numbers; ++i) {
        std::vector<std::size_t> places(static_cast<std::size_t>(volume(box)));
        std::vector<double> values(places.size());
        each_in(in, {t.source.box, {component}, nullptr}, [&](const Extent& p, int, std::int64_t at) {
          const Extent c =
              by_rows(source.layout, {p[0] - t.source.box.lo[0], p[1] - t.source.box.lo[1], p[2] - t.source.box.lo[2]});
          const auto n = static_cast<std::size_t>((c[2] * box[1] + c[1]) * box[0] + c[0]);
          places[n] = static_cast<std::size_t>(at * numbers + i);
          values[n] = values_sent[places[n]];
        });
        const std::vector<double> there = arrived_in_blocks(cast, values, box, turned);
        for (std::size_t n = 0; n < places.size(); ++n) all[places[n]] = there[n];
      }
    return all;
  }

  /// Expected field values after an exchange: contributions are combined by block id, the cell's own at its block's id.
  std::map<std::int64_t, Numbers> after(int round) const {
    auto transfers = pattern.transfers(from, source.components, source.ghost, to.rank());
    std::stable_sort(transfers.begin(), transfers.end(),
                     [](const Transfer& a, const Transfer& b) { return a.source_block < b.source_block; });
    std::map<std::int64_t, Numbers> result, sums;
    std::map<std::int64_t, std::vector<char>> own_is_in, touched;
    for (const std::int64_t id : to.local()) {
      result[id] = before(true, id, round);
      sums[id].assign(result[id].size(), 0);
      own_is_in[id].assign(result[id].size(), 0);
      touched[id].assign(result[id].size(), 0);
    }
    Given given;
    for (const Transfer& t : transfers) {
      if (!result.contains(t.target_block)) continue;
      const Numbers& values = arriving(given, t, round);
      each_pair(t, [&](std::size_t in, std::size_t out) {
        const double value = values[in];
        if (t.op == Op::copy) {
          result[t.target_block][out] = value;
          return;
        }
        double& sum = sums[t.target_block][out];
        char& has_own = own_is_in[t.target_block][out];
        char& any = touched[t.target_block][out];
        if (!has_own && t.source_block >= t.target_block) {
          sum = any ? added(sum, result[t.target_block][out]) : result[t.target_block][out];
          has_own = any = 1;
        }
        sum = any ? added(sum, value) : value;
        any = 1;
      });
    }
    for (auto& [id, values] : result)
      for (std::size_t n = 0; n < values.size(); ++n)
        if (touched[id][n]) values[n] = own_is_in[id][n] ? sums[id][n] : added(sums[id][n], values[n]);
    return result;
  }

  /// Sum of two values in the precision of the field.
  double added(double a, double b) const {
    return is_single(source.type) ? static_cast<float>(a) + static_cast<float>(b) : a + b;
  }

  /// Calls f(value at the source, value at the target) for each pair of a transfer.
  template <class F>
  void each_pair(const Transfer& t, F f) const {
    std::vector<std::size_t> places;
    const BlockShape in = shape(false, t.source_block), out = shape(true, t.target_block);
    each_in(in, t.source, [&](const Extent&, int, std::int64_t at) { places.push_back(static_cast<std::size_t>(at)); });
    std::size_t n = 0;
    const int numbers = numbers_of(source.type);
    for (std::size_t c = 0; c < t.source.components.size(); ++c)
      each_in(in, {t.source.box, {t.source.components[c]}, nullptr}, [&](const Extent& p, int, std::int64_t) {
        Extent q{};
        for (std::size_t a = 0; a < 3; ++a)
          q[t.axes[a]] = t.target.box.lo[t.axes[a]] + p[a] - t.source.box.lo[static_cast<int>(a)];
        const auto there = static_cast<std::size_t>(element(out, t.target.components[c], q));
        for (int i = 0; i < numbers; ++i) f(places[n] * numbers + i, there * numbers + i);
        ++n;
      });
  }

  /// Adds the coding errors of the values that this rank sends, by pair of devices.
  void add_errors(int round, std::map<std::pair<int, int>, ErrorsByHand>& errors) const {
    Given given;
    for (const Transfer& t : pattern.transfers(from, source.components, source.ghost, from.rank())) {
      const std::pair pair{from.block(t.source_block).device, to.block(t.target_block).device};
      if (from.machine().device(pair.first).rank != from.rank()) continue;
      const Numbers &values = sent(given, t, round), &there = arriving(given, t, round);
      if (cast.blocks() && there == values) continue;  // the box is too small to be coded
      each_pair(t, [&](std::size_t in, std::size_t) {
        const double difference = there[in] - values[in];
        if (!std::isfinite(difference)) return;
        ErrorsByHand& all = errors[pair];
        all.largest = std::max(all.largest, std::abs(difference));
        all.squares += difference * difference;
        ++all.numbers;
      });
    }
  }

  void check(const Field& field, int round) const {
    int wrong = 0;
    for (const auto& [id, want] : after(round)) {
      const Numbers have = numbers_in(field, id);
      const int numbers = numbers_of(source.type);
      each_in(field.shape(id), everything(to.block(id).box.extents(), target),
              [&](const Extent& p, int c, std::int64_t at) {
                for (int i = 0; i < numbers; ++i) {
                  const double a = have[at * numbers + i], b = want[at * numbers + i];
                  if (same(a, b) || wrong++ > 2) continue;
                  ADD_FAILURE() << "block " << id << " cell " << p[0] << ' ' << p[1] << ' ' << p[2] << " component "
                                << c << ": " << a << ", not " << b << ", in round " << round;
                }
              });
    }
  }
  /// Whether two values are equal, where all NaN count as equal.
  static bool same(double a, double b) {
    return (std::isnan(a) && std::isnan(b)) || std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
  }
};

FieldOptions field_of(const char* name, DType type, Layout layout, int components, const Extent& ghost) {
  FieldOptions options;
  options.name = name;
  options.type = type;
  options.layout = layout;
  options.components = components;
  options.ghost = ghost;
  options.shared = true;
  return options;
}

constexpr std::array<Layout, 3> layouts{Layout::soa, Layout::aos, Layout::soa_z};

class CastItems : public testing::TestWithParam<std::tuple<Backend, std::size_t, std::size_t>> {
 protected:
  void SetUp() override {
    if (const auto why = unavailable(backend, way); !why.empty()) GTEST_SKIP() << why;
    options.routes = way.routes;
    options.knobs.grouping = way.grouping;
    options.measure_errors = std::get<2>(GetParam()) != 1;
    options.knobs.chunk = std::get<2>(GetParam()) % 2 ? 1 << 12 : 0;
    options.knobs.ring = options.knobs.chunk ? 16 << 10 : options.knobs.ring;
  }

  void run(const std::vector<ByHand>& items, std::vector<Field>& sources, std::vector<Field>& targets) {
    std::vector<ExchangeItem> list;
    std::vector<PlannedItem> planned;
    for (std::size_t i = 0; i < items.size(); ++i) {
      const Coding coding = items[i].coded ? items[i].cast.coding : Coding{};
      list.push_back({&items[i].pattern, &sources[i], items[i].one_field ? nullptr : &targets[i], false, coding});
      planned.push_back({&items[i].pattern, items[i].source, {}, false, coding});
      if (!items[i].one_field) planned.back().target = items[i].target;
    }
    const Grid& grid = items.front().from;
    if (const auto why = refusal_of(grid, planned, options); !why.empty()) GTEST_SKIP() << why;
    Exchange exchange(comm, grid, list, options);
    std::vector<Stream> streams = streams_of(grid);
    for (int round = 1; round <= 3; ++round) {
      for (std::size_t i = 0; i < items.size(); ++i) {
        for (const std::int64_t id : items[i].from.local())
          set_numbers(sources[i], id, items[i].before(false, id, round));
        if (!items[i].one_field)
          for (const std::int64_t id : items[i].to.local())
            set_numbers(targets[i], id, items[i].before(true, id, round));
      }
      comm.barrier();  // waits until the targets of other ranks are filled
      exchange_once(exchange, streams, round);
      for (std::size_t i = 0; i < items.size(); ++i)
        items[i].check(items[i].one_field ? sources[i] : targets[i], round);
      comm.barrier();
    }
    check_errors(items, exchange, 3);
  }

  /// Compares the coding errors reported for exchange number `round` with those that the test computes from its values.
  void check_errors(const std::vector<ByHand>& items, Exchange& exchange, int round) {
    std::map<std::pair<int, int>, ErrorsByHand> wanted;
    for (const ByHand& item : items)
      if (item.coded) item.add_errors(round, wanted);
    const Grid& grid = items.front().from;
    for (const ReportRow& row : exchange.report()) {
      if (row.source_rank != grid.rank()) continue;
      const ErrorsByHand& all = wanted[{row.message.source, row.message.target}];
      // Within a device, values may be rounded without being encoded.
      const bool encoded = options.measure_errors && all.numbers > 0;
      if (row.message.route != RouteKind::kernel) {
        EXPECT_EQ(row.encode_us > 0, encoded);
      }
      EXPECT_LE(row.encode_us > 0, encoded);
      EXPECT_EQ(row.decode_us > 0, row.encode_us > 0);
      if (!options.measure_errors || all.numbers == 0) {
        EXPECT_EQ(row.largest_error, -1);
        EXPECT_EQ(row.rms_error, -1);
        continue;
      }
      const double rms = std::sqrt(all.squares / static_cast<double>(all.numbers));
      EXPECT_EQ(row.largest_error, all.largest) << row.message.source << " to " << row.message.target;
      EXPECT_NEAR(row.rms_error, rms, 1e-12 * rms) << row.message.source << " to " << row.message.target;
    }
  }

  Grid grid_of(const Machine& machine, const Extent& cells, const Extent& counts) const {
    GridOptions of_grid;
    of_grid.periodic = {true, true, true};
    of_grid.boxes = dealt_blocks(cells, counts, machine.devices());
    return Grid(cells, machine, comm.rank(), of_grid);
  }

  static inline const std::vector<Way> ways = all_ways();
  Backend backend = std::get<0>(GetParam());
  const Way& way = ways[std::get<1>(GetParam())];
  const Cast& cast = casts()[std::get<2>(GetParam())];
  /// Every route meets every layout and permutation, and so does every format; but not every pair of these meets.
  const std::size_t turn = std::get<1>(GetParam()) + std::get<2>(GetParam());
  const Layout layout = layouts[turn % layouts.size()];
  Communicator comm = Communicator::world();
  ExchangeOptions options;
};

/// A second field travels without coding in the same messages as a first one that is coded.
TEST_P(CastItems, FillGhostsWithRoundedValues) {
  const Machine machine = machine_here(backend, way);
  const Grid grid = grid_of(machine, {30, 31, 37}, {2, 2, 2});
  const Halo halo({Reach::all, {1, 1, 1}, {2, 1, 1}, {}}), thin({Reach::faces, {1, 1, 1}, {1, 1, 1}, {}});
  const FieldOptions of = field_of("density", cast.type, layout, 2, {2, 1, 1});
  const FieldOptions raw = field_of("beside", cast.type, layout, 1, {1, 1, 1});
  std::vector<Field> fields;
  fields.emplace_back(grid, of);
  fields.emplace_back(grid, raw);
  run({{cast, halo, grid, grid, of, of, true}, {cast, thin, grid, grid, raw, raw, true, false}}, fields, fields);
}

TEST_P(CastItems, AreAddedAsTheyAreDecoded) {
  const Machine machine = machine_here(backend, way);
  const Grid grid = grid_of(machine, {12, 10, 9}, {2, 2, 2});
  const HaloAdjoint sum({Reach::all, {1, 1, 1}, {2, 1, 1}, {}});
  const FieldOptions of = field_of("density", cast.type, layout, 2, {2, 1, 1});
  std::vector<Field> fields;
  fields.emplace_back(grid, of);
  run({{cast, sum, grid, grid, of, of, true}}, fields, fields);
}

TEST_P(CastItems, AreTransposed) {
  const Machine machine = machine_here(backend, way);
  const std::vector<std::array<int, 3>> permutations[2]{{{2, 1, 0}, {0, 1, 2}}, {{1, 2, 0}, {1, 0, 2}}};
  for (const std::array<int, 3>& axes : permutations[turn % 2]) {
    SCOPED_TRACE(axes[0] * 100 + axes[1] * 10 + axes[2]);
    const Extent cells{30, 31, 37};
    Extent there{};
    for (std::size_t a = 0; a < 3; ++a) there[axes[a]] = cells[a];
    const Grid source = grid_of(machine, cells, {1, 2, 4}), target = grid_of(machine, there, {3, 1, 2});
    const Transpose transpose(source, target, {.axes = axes, .kept = {}});
    const FieldOptions from = field_of("waves", cast.type, layouts[static_cast<std::size_t>(axes[1])], 1, {0, 0, 0});
    const FieldOptions to = field_of("turned", cast.type, Layout::soa, 1, {1, 0, 0});
    std::vector<Field> sources, targets;
    sources.emplace_back(source, from);
    targets.emplace_back(target, to);
    run({{cast, transpose, source, target, from, to, false}}, sources, targets);
    if (IsSkipped() || HasFailure()) return;
  }
}

/// One overflowing number is enough for an error. end() reports it if the host drives a route; otherwise check() does.
/// Ranks that neither packed nor received the number report the same error.
TEST_P(CastItems, ThatAreTooLargeAreTheSameErrorOnAllRanks) {
  const Machine machine = machine_here(backend, way);
  const Grid grid = grid_of(machine, {12, 10, 8}, {2, 2, 2});
  const Halo halo({Reach::faces, {1, 1, 1}, {1, 1, 1}, {}});
  const FieldOptions of = field_of("density", cast.type, Layout::soa, 1, {1, 1, 1});
  Field field(grid, of);
  const std::vector<PlannedItem> planned{{&halo, of, {}, false, cast.coding}};
  if (const auto why = refusal_of(grid, planned, options); !why.empty()) GTEST_SKIP() << why;
  Exchange exchange(comm, grid, {{&halo, &field, nullptr, false, cast.coding}}, options);
  const bool at_end = !comm.all(!exchange.needs_host());
  const std::int64_t block = 0;
  const Extent cell{2, 2, 0};  // cell at one face of the block only, so that a single message has its value
  const double huge = cast.blocks()           ? -std::numeric_limits<double>::infinity()
                      : of.type == DType::f32 ? -3.4e38
                                              : -3.4e39;  // overflows, because the largest bf16 is 3.39e38
  const auto sent_to = [&](std::int64_t target) {
    for (const Transfer& t : halo.transfers(grid, 1, of.ghost, grid.rank()))
      if (t.source_block == block && t.target_block == target && t.source.box.contains(cell)) return true;
    return false;
  };
  for (const std::int64_t id : grid.local()) {
    const BlockShape shape = field.shape(id);
    Numbers values(static_cast<std::size_t>(shape.elements * numbers_of(of.type)), 1.5);
    if (id == block) values[static_cast<std::size_t>(element(shape, 0, cell) * numbers_of(of.type))] = huge;
    set_numbers(field, id, values);
  }
  comm.barrier();
  std::vector<Stream> streams = streams_of(grid);
  auto said = error_of([&] {
    exchange.begin(streams);
    exchange.end(streams);
  });
  EXPECT_EQ(said.has_value(), at_end) << (said ? said->what() : "");
  finish(streams);
  if (!at_end) said = error_of([&] { exchange.check(); });
  expect_error(said, ErrorCode::overflow,
               {{"item", 0}, {"field", "density"}, {"pattern", "halo"}, {"coding", to_string(cast.coding)}});
  const std::string text = said ? said->what() : "";
  for (const std::string& elsewhere : comm.all_gather(text)) EXPECT_EQ(elsewhere, text);
  EXPECT_THROW(exchange.check(), Overflow);
  EXPECT_THROW(exchange.begin(streams), Overflow);
  for (const std::int64_t id : grid.local()) {
    // Block coding turns all numbers of a block with a NaN into NaN.
    int none = 0;
    for (const double number : numbers_in(field, id)) none += cast.blocks() ? std::isnan(number) : std::isinf(number);
    EXPECT_EQ(none > 0, sent_to(id)) << "block " << id;
  }
  comm.barrier();
}

INSTANTIATE_TEST_SUITE_P(Routes, CastItems,
                         testing::Combine(testing::ValuesIn(backends_here()),
                                          testing::Range(std::size_t{0}, all_ways().size()),
                                          testing::Range(std::size_t{0}, casts().size())),
                         [](const auto& info) {
                           return name_of(std::get<0>(info.param), std::get<1>(info.param),
                                          casts()[std::get<2>(info.param)].name);
                         });

class CastBySomeDevices : public testing::TestWithParam<std::size_t> {};

TEST_P(CastBySomeDevices, FillsTheSameGhosts) {
  const Cast& cast = casts()[GetParam()];
  const Communicator comm = Communicator::world();
  for (const int devices : {1, 2, 3, 4, 5, 8})
    for (const RouteKind kind : {RouteKind::direct, RouteKind::peer, RouteKind::staged}) {
      SCOPED_TRACE(to_string(kind) + " on " + std::to_string(devices) + " devices");
      const Machine machine = machine_here(Backend::host, devices);
      GridOptions of_grid;
      of_grid.periodic = {true, true, true};
      of_grid.boxes = dealt_blocks({30, 31, 37}, {2, 2, 2}, machine.devices());
      const Grid grid({30, 31, 37}, machine, comm.rank(), of_grid);
      const FieldOptions of = field_of("density", cast.type, Layout::soa, 1, {1, 1, 1});
      Field field(grid, of);
      const Halo halo{Halo::Options{}};
      const ByHand by_hand{cast, halo, grid, grid, of, of, true};
      ExchangeOptions options;
      options.routes = {RouteKind::kernel, kind};
      Exchange exchange(comm, grid, {{&halo, &field, nullptr, false, cast.coding}}, options);
      std::vector<Stream> streams = streams_of(grid);
      for (const std::int64_t id : grid.local()) set_numbers(field, id, by_hand.before(false, id, 1));
      exchange_once(exchange, streams, 1);
      by_hand.check(field, 1);
      // Messages have 16 or 32 bits a value instead of twice as many, except that parts are rounded up to 16 bytes.
      Exchange raw(comm, grid, {{&halo, &field}}, options);
      ASSERT_EQ(raw.messages().size(), exchange.messages().size());
      std::int64_t coded_bytes = 0, raw_bytes = 0;
      for (std::size_t m = 0; m < raw.messages().size(); ++m) {
        EXPECT_EQ(exchange.messages()[m].raw_bytes, raw.messages()[m].raw_bytes);
        EXPECT_LE(exchange.messages()[m].bytes, raw.messages()[m].bytes);
        coded_bytes += exchange.messages()[m].bytes;
        raw_bytes += raw.messages()[m].bytes;
      }
      if (!raw.messages().empty()) {
        EXPECT_LT(coded_bytes, raw_bytes);
      }
      if (cast.blocks()) continue;
      for (std::size_t m = 0; m < raw.messages().size(); ++m) {
        EXPECT_GE(2 * exchange.messages()[m].bytes, raw.messages()[m].bytes);
        EXPECT_LE(2 * exchange.messages()[m].bytes, raw.messages()[m].bytes + 32 * raw.messages()[m].transfers);
      }
    }
}

TEST_P(CastBySomeDevices, AreTransposed) {
  const Cast& cast = casts()[GetParam()];
  const Communicator comm = Communicator::world();
  for (const Way& way : ways_of_some_devices()) {
    SCOPED_TRACE(way.name);
    const Machine machine = machine_here(Backend::host, way);
    GridOptions of_source, of_target;
    of_source.boxes = dealt_blocks({9, 7, 11}, {1, 2, 4}, machine.devices());
    of_target.boxes = dealt_blocks({11, 7, 9}, {3, 1, 2}, machine.devices());
    const Grid source({9, 7, 11}, machine, comm.rank(), of_source);
    const Grid target({11, 7, 9}, machine, comm.rank(), of_target);
    const Transpose transpose(source, target, {.axes = {2, 1, 0}, .kept = {}});
    const FieldOptions of_from = field_of("waves", cast.type, Layout::aos, 2, {0, 0, 0});
    const FieldOptions of_to = field_of("turned", cast.type, Layout::soa, 2, {1, 0, 0});
    Field from(source, of_from), to(target, of_to);
    const ByHand by_hand{cast, transpose, source, target, of_from, of_to, false};
    ExchangeOptions options;
    options.routes = way.routes;
    Exchange exchange(comm, source, {{&transpose, &from, &to, false, cast.coding}}, options);
    std::vector<Stream> streams = streams_of(source);
    for (const std::int64_t id : source.local()) set_numbers(from, id, by_hand.before(false, id, 1));
    for (const std::int64_t id : target.local()) set_numbers(to, id, by_hand.before(true, id, 1));
    exchange_once(exchange, streams, 1);
    by_hand.check(to, 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, CastBySomeDevices, testing::Range(std::size_t{0}, casts().size()),
                         [](const auto& info) { return casts()[info.param].name; });

}  // namespace
}  // namespace slipstream
