#pragma once
// Test fixture for gather-scatter: random ids of points on the devices of a machine, and expected sums on the host.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <functional>
#include <map>
#include <optional>

#include <slipstream/gather_scatter.hpp>

#include "expect_error.hpp"

#include "support/exchange_rig.hpp"

namespace slipstream::shared_points {

constexpr std::int64_t block_points = 48;

/// The whole domain, the same on all ranks: ids and values by block and point.
struct Domain {
  std::int64_t blocks = 1;
  std::vector<std::int64_t> ids;

  std::int64_t points() const { return blocks * block_points; }
  /// Draws ids with mixed numbers of copies. Most have a few copies anywhere, also twice in a block; some points are
  /// single, some ignored (id 0); and one id has very many copies.
  static Domain random(std::int64_t blocks, unsigned seed) {
    Domain domain{blocks, {}};
    domain.ids.resize(static_cast<std::size_t>(domain.points()));
    const std::uint64_t groups = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(domain.points()) / 3);
    for (std::size_t n = 0; n < domain.ids.size(); ++n) {
      const std::uint64_t x = scrambled(seed, n, 1);
      const std::uint64_t kind = x % 10;
      const std::int64_t far = std::int64_t{1} << 40;
      domain.ids[n] = kind == 0   ? 0
                      : kind == 1 ? far + static_cast<std::int64_t>(n)
                      : kind == 2 ? 7
                                  : far / 2 + static_cast<std::int64_t>(scrambled(seed, n, 2) % groups);
    }
    return domain;
  }
};

template <class T>
constexpr bool is_complex_v = false;
template <class T>
constexpr bool is_complex_v<std::complex<T>> = true;

template <class T>
T value_of(std::int64_t point, int component, int round) {
  const std::uint64_t bits = scrambled(static_cast<std::uint64_t>(point), static_cast<std::uint64_t>(component),
                                       static_cast<std::uint64_t>(round));
  if constexpr (std::is_integral_v<T>) return static_cast<T>(bits % 7 + 1);
  if constexpr (is_complex_v<T>)
    return {static_cast<typename T::value_type>(fraction(bits)),
            static_cast<typename T::value_type>(fraction(scrambled(bits, 1, 2)))};
  return static_cast<T>(fraction(bits) * std::pow(10.0, static_cast<double>(bits % 5) - 2));
}

template <class T>
T folded(Op op, T a, T b) {
  switch (op) {
    case Op::add:
      if constexpr (std::is_integral_v<T>)
        return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
      return a + b;
    case Op::multiply:
      if constexpr (std::is_integral_v<T>)
        return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
      if constexpr (is_complex_v<T>)
        return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
      return a * b;
    default:
      if constexpr (!is_complex_v<T>) return op == Op::min ? std::min(a, b) : std::max(a, b);
      return a;
  }
}

/// Rounding, as by a coding, of values that blocks share: alike for values that are sent and those that stay.
template <class T>
using Turn = std::function<T(T)>;

/// Expected value of each id: reduces first its copies within a block, in their order, then the blocks in order.
template <class T>
std::map<std::int64_t, T> expected(const Domain& domain, int component, int round, Op op, const Turn<T>& turn) {
  std::map<std::int64_t, std::vector<T>> blocks;
  for (std::int64_t block = 0; block < domain.blocks; ++block) {
    std::map<std::int64_t, T> partials;
    for (std::int64_t n = block * block_points; n < (block + 1) * block_points; ++n) {
      const std::int64_t id = domain.ids[static_cast<std::size_t>(n)];
      const T value = value_of<T>(n, component, round);
      const auto [at, first] = partials.try_emplace(id, value);
      if (!first) at->second = folded(op, at->second, value);
    }
    for (const auto& [id, value] : partials) blocks[id].push_back(value);
  }
  std::map<std::int64_t, T> totals;
  for (auto& [id, values] : blocks) {
    if (turn && values.size() > 1) std::transform(values.begin(), values.end(), values.begin(), turn);
    T& total = totals[id] = values.front();
    for (std::size_t n = 1; n < values.size(); ++n) total = folded(op, total, values[n]);
  }
  return totals;
}

/// The blocks of the domain on the devices of a machine: in order, or round-robin.
class Dealt {
 public:
  Dealt(const Domain& domain, const Machine& machine, int rank) : domain_(domain) {
    const std::int64_t devices = machine.devices();
    for (const int device : machine.devices_of_rank(rank)) {
      const std::int64_t first = domain.blocks * device / devices, last = domain.blocks * (device + 1) / devices;
      firsts_.push_back(first);
      const auto at = domain.ids.begin() + first * block_points;
      ids_.emplace_back(at, domain.ids.begin() + last * block_points);
    }
  }
  std::vector<SharedPoints> points() const {
    std::vector<SharedPoints> all;
    for (std::size_t d = 0; d < ids_.size(); ++d) all.push_back({ids_[d], firsts_[d], block_points});
    return all;
  }
  std::size_t devices() const { return ids_.size(); }
  std::size_t count(std::size_t device) const { return ids_[device].size(); }
  std::int64_t point(std::size_t device, std::size_t n) const {
    return firsts_[device] * block_points + static_cast<std::int64_t>(n);
  }

 private:
  const Domain& domain_;
  std::vector<std::int64_t> firsts_;
  std::vector<std::vector<std::int64_t>> ids_;
};

template <class T>
struct Arrays {
  Arrays(const Dealt& dealt, const std::vector<Stream>& streams, int components) : components(components) {
    for (std::size_t d = 0; d < dealt.devices(); ++d) {
      const std::size_t values = std::max<std::size_t>(1, dealt.count(d) * static_cast<std::size_t>(components));
      there.emplace_back(streams[d].device(), values);
      here.emplace_back(streams[d].device(), values, Memory::pinned);
      all.push_back({there.back().data(), 0});
    }
  }
  void fill(const Dealt& dealt, std::vector<Stream>& streams, int round) {
    for (std::size_t d = 0; d < dealt.devices(); ++d) {
      for (int c = 0; c < components; ++c)
        for (std::size_t n = 0; n < dealt.count(d); ++n)
          here[d].data()[static_cast<std::size_t>(c) * dealt.count(d) + n] = value_of<T>(dealt.point(d, n), c, round);
      copy(streams[d], there[d].data(), here[d].data(), here[d].bytes());
    }
  }
  void fetch(std::vector<Stream>& streams) {
    for (std::size_t d = 0; d < there.size(); ++d) copy(streams[d], here[d].data(), there[d].data(), here[d].bytes());
    finish(streams);
  }
  int components;
  std::vector<Buffer<T>> there, here;
  std::vector<GatherScatter::Array> all;
};

/// The unique values on this rank's devices, component after component.
template <class T>
struct Uniques {
  Uniques(const GatherScatter& gs, const std::vector<Stream>& streams, int components) : components(components) {
    for (std::size_t d = 0; d < streams.size(); ++d) {
      counts.push_back(static_cast<std::size_t>(gs.counts(d).unique_ids));
      const std::size_t values = std::max<std::size_t>(1, counts[d] * static_cast<std::size_t>(components));
      there.emplace_back(streams[d].device(), values);
      here.emplace_back(streams[d].device(), values, Memory::pinned);
      all.push_back({there.back().data(), 0});
    }
  }
  T& at(std::size_t d, int c, std::size_t k) { return here[d].data()[static_cast<std::size_t>(c) * counts[d] + k]; }
  void fetch(std::vector<Stream>& streams) {
    for (std::size_t d = 0; d < there.size(); ++d) copy(streams[d], here[d].data(), there[d].data(), here[d].bytes());
    finish(streams);
  }
  void store(std::vector<Stream>& streams) {
    for (std::size_t d = 0; d < there.size(); ++d) copy(streams[d], there[d].data(), here[d].data(), here[d].bytes());
  }
  int components;
  std::vector<std::size_t> counts;
  std::vector<Buffer<T>> there, here;
  std::vector<GatherScatter::Array> all;
};

template <class T>
void expect_right(const Domain& domain, const Dealt& dealt, const Arrays<T>& arrays, int round, Op op,
                  const Turn<T>& turn = {}) {
  for (int c = 0; c < arrays.components; ++c) {
    const std::map<std::int64_t, T> right = expected<T>(domain, c, round, op, turn);
    for (std::size_t d = 0; d < dealt.devices(); ++d)
      for (std::size_t n = 0; n < dealt.count(d); ++n) {
        const std::int64_t point = dealt.point(d, n), id = domain.ids[static_cast<std::size_t>(point)];
        const T want = id ? right.at(id) : value_of<T>(point, c, round);
        const T have = arrays.here[d].data()[static_cast<std::size_t>(c) * dealt.count(d) + n];
        ASSERT_EQ(std::memcmp(&have, &want, sizeof want), 0)
            << have << ", not " << want << ": point " << point << " of id " << id << ", component " << c << ", round "
            << round << ", operation " << static_cast<int>(op);
      }
  }
}

class GatherScatterOn : public testing::TestWithParam<std::tuple<Backend, std::size_t>> {
 protected:
  explicit GatherScatterOn(const std::vector<Way>& ways = all_ways()) : way(ways[std::get<1>(GetParam())]) {}
  const Way way;

  void SetUp() override {
    if (auto why = unavailable(std::get<0>(GetParam()), way); !why.empty()) GTEST_SKIP() << why;
    machine.emplace(machine_here(std::get<0>(GetParam()), way));
    if (const auto why = refused()) {
      ASSERT_EQ(why->fact("problem"), "no_route") << why->what();
      GTEST_SKIP() << why->what();
    }
    for (const int d : machine->devices_of_rank(comm.rank())) streams.emplace_back(machine->device(d).local);
  }

  /// Error where the routes under test cannot connect all devices with all others.
  std::optional<Error> refused() const {
    const Domain domain = Domain::random(2 * machine->devices(), 1);
    return error_of([&] { made(Dealt(domain, *machine, comm.rank()), {}); });
  }

  std::unique_ptr<GatherScatter> made(const Dealt& dealt, GatherScatterOptions options) const {
    options.exchange.routes = way.routes;
    options.exchange.knobs.grouping = way.grouping;
    return std::make_unique<GatherScatter>(comm, *machine, dealt.points(), options);
  }

  template <class T>
  void check_all(const Domain& domain, int components, const std::vector<Op>& ops, const Coding& coding = {},
                 const Turn<T>& turn = {}, bool host_packed = false) {
    const Dealt dealt(domain, *machine, comm.rank());
    GatherScatterOptions options;
    options.host_packed = host_packed;
    options.type = dtype_of<T>();
    options.components = components;
    options.coding = coding;
    const auto gs = made(dealt, options);
    // Exchanges alternate between two sets of arrays without a new plan.
    Arrays<T> one(dealt, streams, components), other(dealt, streams, components);
    int round = 0;
    for (const Op op : ops)
      for (Arrays<T>* arrays : {&one, &other}) {
        arrays->fill(dealt, streams, ++round);
        if (round % 2) {
          gs->run(streams, arrays->all, op);
        } else {
          gs->start(streams, arrays->all, op);
          gs->finish(streams);
        }
        arrays->fetch(streams);
        gs->check();
        expect_right(domain, dealt, *arrays, round, op, turn);
      }
  }

  const Communicator comm = Communicator::world();
  std::optional<Machine> machine;
  std::vector<Stream> streams;
};

}  // namespace slipstream::shared_points
