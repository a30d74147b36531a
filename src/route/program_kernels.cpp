#include "route/program.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <type_traits>

#include <slipstream/launch.hpp>

#include "device/upload.hpp"

namespace slipstream {
namespace {

/// Divides numbers below 2^31 by one number: a multiplication and a shift.
struct Divisor {
  std::uint32_t factor = 0, shift = 0, by = 1;
  Divisor() = default;
  explicit Divisor(std::int64_t d) : by(static_cast<std::uint32_t>(d)) {
    const int bits = std::bit_width(static_cast<std::uint64_t>(d - 1));
    shift = 31 + bits;
    factor = static_cast<std::uint32_t>(((std::uint64_t{1} << shift) + d - 1) / d);
  }
  SLIP_FN std::uint32_t of(std::uint32_t n) const {
    return by == 1 ? n : static_cast<std::uint32_t>((static_cast<std::uint64_t>(n) * factor) >> shift);
  }
};

struct alignas(16) Word16 {
  std::uint64_t low, high;
};

SLIP_FN std::int64_t ring_offset(const Ring& ring, std::uint64_t now) {
  if (ring.bytes == 0) return 0;
  const std::uint64_t chunk = (now - 1) * static_cast<std::uint64_t>(ring.chunks) + ring.chunk;
  return static_cast<std::int64_t>(chunk % static_cast<std::uint64_t>(ring.depth)) * ring.bytes;
}

}  // namespace

/// A mover as the device reads it.
struct Program::Work {
  Mover mover;
  Divisor width, height;
};

struct Program::Tile {
  std::int64_t first = 0;  ///< word of the mover
  std::int32_t work = -1;
  std::uint32_t batch = 0;
  std::int32_t x = 0, y = 0, z = 0;  ///< of the first word
  std::int32_t count = 0;
};

struct Program::BatchInfo {
  std::uint32_t tiles = 0;
  std::int32_t first_wait = 0, waits = 0, first_post = 0, posts = 0;
  std::int32_t stamp = 0;
};

namespace {

using Work = Program::Work;
using Tile = Program::Tile;
using BatchInfo = Program::BatchInfo;

struct At {
  std::int32_t x, y, z;
};

SLIP_FN At at(const Work& w, const Tile& tile, std::uint32_t n) {
  std::uint32_t x = static_cast<std::uint32_t>(tile.x) + n;
  const std::uint32_t rows = w.width.of(x);
  x -= rows * w.width.by;
  std::uint32_t y = static_cast<std::uint32_t>(tile.y) + rows;
  const std::uint32_t planes = w.height.of(y);
  y -= planes * w.height.by;
  return {static_cast<std::int32_t>(x), static_cast<std::int32_t>(y), tile.z + static_cast<std::int32_t>(planes)};
}

SLIP_FN std::int64_t offset(const std::int64_t* stride, const At& p) {
  return p.x * stride[0] + p.y * stride[1] + p.z * stride[2];
}

SLIP_FN std::int64_t place(const std::int64_t* ids, const std::int64_t* stride, const At& p, std::int64_t n) {
  return ids ? ids[n] : offset(stride, p);
}

template <class Word>
SLIP_FN void copy_word(const Work& w, const Tile& tile, const Word* source, Word* target, std::uint32_t n) {
  const At p = at(w, tile, n);
  const Mover& m = w.mover;
  target[place(m.target_ids, m.target_stride, p, tile.first + n)] =
      source[place(m.source_ids, m.source_stride, p, tile.first + n)];
}

/// On one thread: along rows, as plain loops.
template <class Word>
SLIP_FN void copy_rows(const Work& w, const Tile& tile, const Word* source, Word* target) {
  const Mover& m = w.mover;
  const auto count = static_cast<std::uint32_t>(tile.count);
  if (m.source_ids || m.target_ids) {
    for (std::uint32_t n = 0; n < count; ++n) copy_word(w, tile, source, target, n);
    return;
  }
  At p{tile.x, tile.y, tile.z};
  for (std::int64_t left = tile.count; left > 0;) {
    const std::int64_t room = m.extent[0] - p.x, run = room < left ? room : left;
    const Word* from = source + offset(m.source_stride, p);
    Word* to = target + offset(m.target_stride, p);
    const std::int64_t from_step = m.source_stride[0], to_step = m.target_stride[0];
    if (from_step == 1 && to_step == 1) {
      for (std::int64_t i = 0; i < run; ++i) to[i] = from[i];
    } else {
      for (std::int64_t i = 0; i < run; ++i) to[i * to_step] = from[i * from_step];
    }
    left -= run;
    p.x = 0;
    if (++p.y == m.extent[1]) {
      p.y = 0;
      ++p.z;
    }
  }
}

/// Several loads are under way before the first store.
template <class Word>
SLIP_FN void copy_strided(const Work& w, const Tile& tile, const Word* source, Word* target, int thread, int threads) {
  constexpr int flight = 4;
  const Mover& m = w.mover;
  const auto count = static_cast<std::uint32_t>(tile.count), step = static_cast<std::uint32_t>(threads);
  for (std::uint32_t n = static_cast<std::uint32_t>(thread); n < count; n += flight * step) {
    Word values[flight];
    std::int64_t to[flight];
    for (int f = 0; f < flight; ++f) {
      const std::uint32_t own = n + static_cast<std::uint32_t>(f) * step;
      if (own >= count) continue;
      const At p = at(w, tile, own);
      to[f] = place(m.target_ids, m.target_stride, p, tile.first + own);
      values[f] = source[place(m.source_ids, m.source_stride, p, tile.first + own)];
    }
    for (int f = 0; f < flight; ++f)
      if (n + static_cast<std::uint32_t>(f) * step < count) target[to[f]] = values[f];
  }
}

template <class Word, class Team>
SLIP_FN void copy_tile(const Team& team, const Work& w, const Tile& tile, std::uint64_t now, int thread) {
  const Mover& m = w.mover;
  const auto* source = reinterpret_cast<const Word*>(m.source + ring_offset(m.source_ring, now));
  auto* target = reinterpret_cast<Word*>(m.target + ring_offset(m.target_ring, now));
  if constexpr (Team::sequential) {
    copy_rows(w, tile, source, target);
  } else {
    copy_strided(w, tile, source, target, thread, team.threads());
  }
}

template <class T>
SLIP_FN T combined(Op op, T a, T b) {
  switch (op) {
    case Op::add:
      return static_cast<T>(a + b);
    case Op::multiply:
      return static_cast<T>(a * b);
    case Op::min:
      return b < a ? b : a;
    case Op::max:
      return a < b ? b : a;
    case Op::copy:
      break;
  }
  return b;
}

template <class T, class Team>
SLIP_FN void combine_tile(const Team& team, const Work& w, const Tile& tile, int thread) {
  const Mover& m = w.mover;
  auto* target = reinterpret_cast<T*>(m.target);
  for (int n = thread; n < tile.count; n += team.threads()) {
    const At p = at(w, tile, static_cast<std::uint32_t>(n));
    T& mine = target[place(m.target_ids, m.target_stride, p, tile.first + n)];
    T sum = mine;
    for (int c = 0; c < m.contribution_count; ++c) {
      const Contribution& from = m.contributions[c];
      const T value = reinterpret_cast<const T*>(from.base)[place(from.ids, from.stride, p, tile.first + n)];
      if (c == 0 && m.own > 0) {
        sum = value;
      } else {
        sum = combined(m.op, sum, value);
      }
      if (c + 1 == m.own) sum = combined(m.op, sum, mine);
    }
    mine = sum;
  }
}

template <class Team>
SLIP_FN void run_tile(const Team& team, const Work& w, const Tile& tile, std::uint64_t now, int thread) {
  if (w.mover.op != Op::copy) {
    switch (w.mover.type) {
      case DType::u8:
        return combine_tile<std::uint8_t>(team, w, tile, thread);
      case DType::i32:
        return combine_tile<std::int32_t>(team, w, tile, thread);
      case DType::i64:
        return combine_tile<std::int64_t>(team, w, tile, thread);
      case DType::f32:
        return combine_tile<float>(team, w, tile, thread);
      case DType::f64:
        return combine_tile<double>(team, w, tile, thread);
    }
    return;
  }
  switch (w.mover.word) {
    case 1:
      return copy_tile<std::uint8_t>(team, w, tile, now, thread);
    case 2:
      return copy_tile<std::uint16_t>(team, w, tile, now, thread);
    case 4:
      return copy_tile<std::uint32_t>(team, w, tile, now, thread);
    case 8:
      return copy_tile<std::uint64_t>(team, w, tile, now, thread);
    case 16:
      return copy_tile<Word16>(team, w, tile, now, thread);
  }
}

struct RunProgram {
  static constexpr int threads = 512;
  const Tile* tiles;
  const Work* works;
  const BatchInfo* batches;
  const Wait* waits;
  Signal* const* posts;
  std::uint32_t* counters;
  Pulse pulse;
  std::uint64_t advance;
  std::uint32_t tile_count, teams;
  std::int64_t cost;

  struct Shared {
    std::uint64_t now;
    std::uint32_t tile, last;
  };

  SLIP_FN void await(const Wait& wait, std::uint64_t now) const {
    const std::uint64_t target = now > static_cast<std::uint64_t>(wait.lag) ? now - wait.lag : 0;
    if (load_acquire(wait.signal) >= target) return;
    Failure* failure = pulse.failure;
    if (wait_for(wait.signal, target, load_acquire(&failure->set) ? 0 : pulse.limit_ns)) return;
    if (load_acquire(&failure->set)) return;
    failure->sequence = now;
    failure->peer = wait.peer;
    store_release(&failure->set, 1);
  }

  /// Counts tiles of a batch as done; who counts the last one sets its counters.
  template <class Team>
  SLIP_FN void finish(const Team& team, Shared* shared, std::uint32_t batch, std::uint32_t tiles_done) const {
    const RunProgram& self = *this;
    const BatchInfo& info = batches[batch];
    std::uint32_t* done = counters + 2 + batch;
    team.each([&](int thread) {
      if (thread != 0) return;
      if (info.posts) fence_system();
      const bool last = atomic_add(done, tiles_done) + tiles_done == info.tiles;
      shared->last = last;
      if (!last) return;
      fence_device();
      *done = 0;
      if (info.stamp) self.pulse.stamps[info.stamp] = clock_ns();
    });
    if (!shared->last || !info.posts) return;
    team.each([&](int thread) {
      for (int i = thread; i < info.posts; i += team.threads())
        store_release(self.posts[info.first_post + i], shared->now);
    });
  }

  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    const RunProgram& self = *this;
    auto* shared = team.template shared<Shared>();
    std::uint32_t next = 0, pending = 0, held = ~0u;
    team.each([&](int thread) {
      if (thread != 0) return;
      shared->tile = atomic_add(self.counters, 1);
      shared->now = *self.pulse.sequence + self.advance;
      if (self.advance && team.index() == 0) self.pulse.stamps[0] = clock_ns();
    });
    std::uint32_t number = shared->tile;
    const std::uint64_t now = shared->now;
    while (number < tile_count) {
      const Tile tile = tiles[number];
      const BatchInfo& info = batches[tile.batch];
      if (info.waits && tile.batch != held) {
        team.each([&](int thread) {
          for (int i = thread; i < info.waits; i += team.threads()) self.await(self.waits[info.first_wait + i], now);
        });
        held = tile.batch;
      }
      team.each([&](int thread) {
        // Asked for early: the answer comes while the values move.
        if (thread == 0) next = atomic_add(self.counters, 1);
        if (tile.work >= 0) run_tile(team, self.works[tile.work], tile, now, thread);
        if (thread == 0) shared->tile = next;
      });
      ++pending;
      number = shared->tile;
      if (number >= tile_count || tiles[number].batch != tile.batch) {
        finish(team, shared, tile.batch, pending);
        pending = 0;
      }
    }
    team.each([&](int thread) {
      if (thread != 0 || atomic_add(self.counters + 1, 1) + 1 != self.teams) return;
      self.counters[0] = self.counters[1] = 0;
      if (self.advance) *self.pulse.sequence = now;
    });
  }
};

struct PostKernel {
  Signal* signal;
  const Signal* sequence;
  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    const PostKernel& self = *this;
    team.each([&self](int thread) {
      if (thread == 0) store_release(self.signal, *self.sequence);
    });
  }
};

template <class T>
Buffer<std::byte> upload_bytes(Device device, const std::vector<T>& values) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto* first = reinterpret_cast<const std::byte*>(values.data());
  return upload(device, std::vector<std::byte>(first, first + values.size() * sizeof(T)));
}

/// Large enough to pay for taking a tile, small enough that every team has some.
std::int64_t tile_bytes_for(std::int64_t all, int teams) {
  return std::clamp<std::int64_t>(all / (2 * std::max(1, teams)), 4096, 65536);
}

struct Ordered {
  Tile tile;
  double key;
};

void cut_mover(const Mover& m, std::int64_t tile_bytes, Tile tile, std::vector<Tile>& out) {
  const std::int64_t words = m.words(), each = std::max<std::int64_t>(1, tile_bytes / m.word);
  for (tile.first = 0; tile.first < words; tile.first += each) {
    tile.count = static_cast<std::int32_t>(std::min(each, words - tile.first));
    tile.x = static_cast<std::int32_t>(tile.first % m.extent[0]);
    tile.y = static_cast<std::int32_t>(tile.first / m.extent[0] % m.extent[1]);
    tile.z = static_cast<std::int32_t>(tile.first / (m.extent[0] * m.extent[1]));
    out.push_back(tile);
  }
}

}  // namespace

Program::Program(Device device, std::vector<Scheduled> batches, int binding, int teams) {
  if (batches.empty()) return;
  const bool host = device.backend == Backend::host;
  teams_ = teams > 0 ? teams : host ? host_threads() : info(device).processors;
  for (const Scheduled& s : batches)
    if (!s.batch->movers.empty())
      for (const Mover& m : s.batch->movers[binding]) words_ += m.words() * m.word;
  const std::int64_t tile_bytes = tile_bytes_for(words_, teams_);

  std::vector<Work> works;
  std::vector<BatchInfo> infos;
  std::vector<Wait> waits;
  std::vector<Signal*> posts;
  std::vector<Ordered> ordered;
  for (const Scheduled& s : batches) {
    const auto index = static_cast<std::uint32_t>(infos.size());
    std::vector<Tile> tiles;
    if (!s.batch->movers.empty())
      for (const Mover& m : s.batch->movers[binding]) {
        if (m.words() == 0) continue;
        require(m.extent[0] < 0x7f000000 && m.extent[1] < 0x7f000000,
                "a box of 2^31 words along one axis cannot be moved");
        works.push_back({m, Divisor(m.extent[0]), Divisor(m.extent[1])});
        Tile tile;
        tile.work = static_cast<std::int32_t>(works.size() - 1);
        tile.batch = index;
        cut_mover(m, tile_bytes, tile, tiles);
      }
    if (tiles.empty()) {
      tiles.emplace_back();
      tiles.back().batch = index;
    }
    infos.push_back({static_cast<std::uint32_t>(tiles.size()), static_cast<std::int32_t>(waits.size()),
                     static_cast<std::int32_t>(s.batch->before.size()), static_cast<std::int32_t>(posts.size()),
                     static_cast<std::int32_t>(s.batch->after.size()), s.stamp});
    waits.insert(waits.end(), s.batch->before.begin(), s.batch->before.end());
    posts.insert(posts.end(), s.batch->after.begin(), s.batch->after.end());
    for (std::size_t t = 0; t < tiles.size(); ++t)
      ordered.push_back(
          {tiles[t], s.from + (s.to - s.from) * static_cast<double>(t) / static_cast<double>(tiles.size())});
  }
  std::stable_sort(ordered.begin(), ordered.end(), [](const Ordered& a, const Ordered& b) { return a.key < b.key; });
  std::vector<Tile> tiles;
  for (const Ordered& o : ordered) tiles.push_back(o.tile);
  tile_count_ = static_cast<std::uint32_t>(tiles.size());
  teams_ = std::min<int>(teams_, static_cast<int>(tile_count_));
  if (!works.empty()) works_ = upload_bytes(device, works);
  tiles_ = upload_bytes(device, tiles);
  batches_ = upload_bytes(device, infos);
  if (!waits.empty()) waits_ = upload(device, waits);
  if (!posts.empty()) posts_ = upload(device, posts);
  counters_ = upload(device, std::vector<std::uint32_t>(2 + infos.size(), 0));
}

std::int64_t Program::bytes() const {
  return static_cast<std::int64_t>(works_.bytes() + tiles_.bytes() + batches_.bytes() + waits_.bytes() + posts_.bytes() +
                                   counters_.bytes());
}

void Program::run(Stream& stream, const Pulse& pulse, bool advance) const {
  if (empty()) return;
  RunProgram kernel{reinterpret_cast<const Tile*>(tiles_.data()),
                    reinterpret_cast<const Work*>(works_.data()),
                    reinterpret_cast<const BatchInfo*>(batches_.data()),
                    waits_.data(),
                    posts_.data(),
                    counters_.data(),
                    pulse,
                    advance ? 1u : 0u,
                    tile_count_,
                    static_cast<std::uint32_t>(teams_),
                    words_ / teams_};
  const int threads = stream.device().backend == Backend::host ? 1 : RunProgram::threads;
  launch_teams(stream, teams_, threads, sizeof(RunProgram::Shared), kernel);
}

void post(Stream& stream, Signal* signal, const Signal* sequence) {
  launch_teams(stream, 1, 1, 0, PostKernel{signal, sequence});
}

}  // namespace slipstream
