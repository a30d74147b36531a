#include "route/program.hpp"

#include <algorithm>
#include <bit>
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
  std::int32_t words = 0;                         ///< of all boxes, where they are few
  std::int32_t folds = 1;                         ///< boxes that this work holds: 1 or 2, row by row in turn
  std::int64_t source_fold = 0, target_fold = 0;  ///< words from the first to the second
};

/// What the tiles of a batch have in common.
struct Program::BatchInfo {
  std::uint32_t tiles = 0;
  std::int32_t first_wait = 0, waits = 0, first_post = 0, posts = 0;
  std::int32_t stamp = 0;
};

/// All that a team needs to start, in one place: what must be read one after the other costs its latency each time.
struct Program::Tile {
  Work work;
  std::int64_t first = 0;              ///< word of the work
  std::int32_t x = 0, row = 0, z = 0;  ///< of the first word; rows count those of both boxes
  std::int32_t count = 0;
  std::int32_t first_small = 0, smalls = 0;  ///< works of few words, moved whole, beside one another
  std::uint32_t batch = 0;
  BatchInfo info;
  Wait wait;  ///< the first
};

namespace {

using Work = Program::Work;
using Tile = Program::Tile;
using BatchInfo = Program::BatchInfo;

/// What a thread needs of a box to find its words, kept in registers: stores through pointers of unknown origin would
/// have the compiler read a table again after each.
struct Shape {
  Divisor width, height;
  std::uint32_t fold_shift;
  std::int64_t source[3], target[3], source_fold, target_fold;
  const std::int64_t *source_ids, *target_ids;
  std::int64_t first;
  std::int32_t x, row, z;

  SLIP_FN Shape(const Work& w, std::int64_t first, std::int32_t x, std::int32_t row, std::int32_t z)
      : width(w.width),
        height(w.height),
        fold_shift(w.folds == 2),
        source{w.mover.source_stride[0], w.mover.source_stride[1], w.mover.source_stride[2]},
        target{w.mover.target_stride[0], w.mover.target_stride[1], w.mover.target_stride[2]},
        source_fold(w.source_fold),
        target_fold(w.target_fold),
        source_ids(w.mover.source_ids),
        target_ids(w.mover.target_ids),
        first(first),
        x(x),
        row(row),
        z(z) {}
};

struct Places {
  std::int64_t source, target;
};

/// The places of the n-th word of a tile.
SLIP_FN Places places(const Shape& s, std::uint32_t n) {
  const std::uint32_t flat = static_cast<std::uint32_t>(s.x) + n;
  const std::uint32_t rows = s.width.of(flat), x = flat - rows * s.width.by;
  const std::uint32_t folded = static_cast<std::uint32_t>(s.row) + rows;
  const std::uint32_t second = folded & s.fold_shift, all_y = folded >> s.fold_shift;
  const std::uint32_t planes = s.height.of(all_y), y = all_y - planes * s.height.by;
  const std::int64_t z = s.z + static_cast<std::int64_t>(planes);
  return {s.source_ids ? s.source_ids[s.first + n]
                       : x * s.source[0] + y * s.source[1] + z * s.source[2] + second * s.source_fold,
          s.target_ids ? s.target_ids[s.first + n]
                       : x * s.target[0] + y * s.target[1] + z * s.target[2] + second * s.target_fold};
}

/// On one thread: along rows, as plain loops.
template <class Word>
SLIP_FN void copy_rows(const Shape& s, std::int64_t count, const Word* source, Word* target) {
  if (s.source_ids || s.target_ids) {
    for (std::int64_t n = 0; n < count; ++n) {
      const Places p = places(s, static_cast<std::uint32_t>(n));
      target[p.target] = source[p.source];
    }
    return;
  }
  std::int64_t room = static_cast<std::int64_t>(s.width.by) - s.x;
  for (std::int64_t n = 0; n < count;) {
    const std::int64_t run = room < count - n ? room : count - n;
    const Places p = places(s, static_cast<std::uint32_t>(n));
    const Word* from = source + p.source;
    Word* to = target + p.target;
    if (s.source[0] == 1 && s.target[0] == 1) {
      for (std::int64_t i = 0; i < run; ++i) to[i] = from[i];
    } else {
      for (std::int64_t i = 0; i < run; ++i) to[i * s.target[0]] = from[i * s.source[0]];
    }
    n += run;
    room = s.width.by;
  }
}

/// Several loads are under way before the first store.
template <class Word>
SLIP_FN void copy_strided(const Shape& s, std::uint32_t count, const Word* source, Word* target, std::uint32_t thread,
                          std::uint32_t threads) {
  constexpr std::uint32_t flight = 4;
  for (std::uint32_t n = thread; n < count; n += flight * threads) {
    Word values[flight];
    std::int64_t to[flight];
    for (std::uint32_t f = 0; f < flight; ++f) {
      if (n + f * threads >= count) continue;
      const Places p = places(s, n + f * threads);
      to[f] = p.target;
      values[f] = source[p.source];
    }
    for (std::uint32_t f = 0; f < flight; ++f)
      if (n + f * threads < count) target[to[f]] = values[f];
  }
}

/// Threads that share a work: this one's number, and how many.
struct Share {
  std::uint32_t thread, threads;
};

template <bool sequential, class Word>
SLIP_FN void copy_words(const Work& w, const Shape& shape, std::int32_t count, std::uint64_t now, Share share) {
  const auto* source = reinterpret_cast<const Word*>(w.mover.source + ring_offset(w.mover.source_ring, now));
  auto* target = reinterpret_cast<Word*>(w.mover.target + ring_offset(w.mover.target_ring, now));
  if constexpr (sequential) {
    copy_rows(shape, count, source, target);
  } else {
    copy_strided(shape, static_cast<std::uint32_t>(count), source, target, share.thread, share.threads);
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

/// Where a contribution to the n-th value lies.
SLIP_FN std::int64_t from_place(Shape shape, const Contribution& from, std::uint32_t n) {
  for (int a = 0; a < 3; ++a) shape.source[a] = from.stride[a];
  return places(shape, n).source;
}

template <class T>
SLIP_FN void combine_words(const Work& w, const Shape& shape, std::int32_t count, Share share) {
  const Mover& m = w.mover;
  auto* target = reinterpret_cast<T*>(m.target);
  for (std::uint32_t n = share.thread; n < static_cast<std::uint32_t>(count); n += share.threads) {
    T& mine = target[places(shape, n).target];
    T sum = mine;
    for (int c = 0; c < m.contribution_count; ++c) {
      const Contribution& from = m.contributions[c];
      const std::int64_t at = from.ids ? from.ids[shape.first + n] : from_place(shape, from, n);
      const T value = reinterpret_cast<const T*>(from.base)[at];
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

template <bool sequential>
SLIP_FN void run_work(const Work& w, const Shape& shape, std::int32_t count, std::uint64_t now, Share share) {
  if (w.mover.op != Op::copy) {
    switch (w.mover.type) {
      case DType::u8:
        return combine_words<std::uint8_t>(w, shape, count, share);
      case DType::i32:
        return combine_words<std::int32_t>(w, shape, count, share);
      case DType::i64:
        return combine_words<std::int64_t>(w, shape, count, share);
      case DType::f32:
        return combine_words<float>(w, shape, count, share);
      case DType::f64:
        return combine_words<double>(w, shape, count, share);
    }
    return;
  }
  switch (w.mover.word) {
    case 1:
      return copy_words<sequential, std::uint8_t>(w, shape, count, now, share);
    case 2:
      return copy_words<sequential, std::uint16_t>(w, shape, count, now, share);
    case 4:
      return copy_words<sequential, std::uint32_t>(w, shape, count, now, share);
    case 8:
      return copy_words<sequential, std::uint64_t>(w, shape, count, now, share);
    case 16:
      return copy_words<sequential, Word16>(w, shape, count, now, share);
  }
}

/// A piece of a large work by all threads, or small works whole, by 32 threads each.
template <class Team>
SLIP_FN void run_tile(const Team& team, const Tile& tile, const Work* smalls, std::uint64_t now, int thread) {
  constexpr bool sequential = Team::sequential;
  const bool whole_team = tile.smalls == 0;
  constexpr int group = sequential ? 1 : 32;
  const int groups = whole_team ? 1 : team.threads() / group;
  Share share{static_cast<std::uint32_t>(thread), static_cast<std::uint32_t>(team.threads())};
  if (!whole_team) share = {static_cast<std::uint32_t>(thread % group), group};
  const int last = whole_team ? 1 : tile.smalls;
  // One loop for both: the code that moves words is large, and stands here once.
  for (int s = whole_team ? 0 : thread / group; s < last; s += groups) {
    const Work& w = whole_team ? tile.work : smalls[tile.first_small + s];
    const Shape shape = whole_team ? Shape(w, tile.first, tile.x, tile.row, tile.z) : Shape(w, 0, 0, 0, 0);
    run_work<sequential>(w, shape, whole_team ? tile.count : w.words, now, share);
  }
}

struct RunProgram {
  static constexpr int threads = 512;
  const Tile* tiles;
  const Work* smalls;
  const Wait* waits;
  Signal* const* posts;
  std::uint32_t* counters;
  Pulse pulse;
  std::uint64_t advance;
  std::uint32_t tile_count, teams;
  std::int64_t cost;

  struct Shared {
    std::uint64_t now;
    std::uint32_t tile[2];  // in turn: a slow thread may still read the last one
  };

  SLIP_FN void await(const Wait& wait, std::uint64_t now) const {
    const std::uint64_t target = now > static_cast<std::uint64_t>(wait.lag) ? now - wait.lag : 0;
    if (load_acquire(wait.signal) >= target) return;
    // Kept in device memory: many teams ask, and the host's memory is far.
    if (wait_for(wait.signal, target, load_acquire(pulse.broken) ? 0 : pulse.limit_ns)) return;
    if (load_acquire(pulse.broken)) return;
    Failure* failure = pulse.failure;
    failure->sequence = now;
    failure->peer = wait.peer;
    store_release(&failure->set, 1);
    store_release(pulse.broken, 1);
  }

  /// Counts tiles of a batch as done; who counts the last one sets its counters.
  template <class Team>
  SLIP_FN void finish(const Team& team, const Tile& tile, std::uint64_t now, std::uint32_t tiles_done) const {
    const BatchInfo& info = tile.info;
    if (!info.posts && !info.stamp) return;
    const RunProgram& self = *this;
    std::uint32_t* done = counters + 2 + tile.batch;
    team.each([&](int thread) {
      if (thread != 0) return;
      // What the whole team stored comes before the count; what all teams counted, before the counters of the
      // neighbours.
      if (info.posts) fence_device();
      if (info.tiles != tiles_done && atomic_add(done, tiles_done) + tiles_done != info.tiles) return;
      if (info.tiles != tiles_done) *done = 0;
      if (info.stamp) self.pulse.stamps[info.stamp] = clock_ns();
      if (!info.posts) return;
      fence_system();
      for (int i = 0; i < info.posts; ++i) store_fenced(self.posts[info.first_post + i], now);
    });
  }

  // A team's first tile: its own number where all teams are there at once, else from the counter, for a team that runs
  // alone must find all tiles in their order.
  template <class Team>
  SLIP_FN std::uint32_t draw() const {
    constexpr bool counted = Team::sequential;
    return counted ? atomic_cycle(counters, tile_count + teams - 1) : teams + atomic_cycle(counters, tile_count - 1);
  }

  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    const RunProgram& self = *this;
    auto* shared = team.template shared<Shared>();
    std::uint32_t next = 0, pending = 0, held = ~0u, arrival = 0;
    std::uint32_t number = static_cast<std::uint32_t>(team.index());
    team.each([&](int thread) {
      if (thread != 0) return;
      shared->now = load_acquire(self.pulse.sequence) + self.advance;  // before this team counts as come
      shared->tile[0] = Team::sequential ? self.template draw<Team>() : static_cast<std::uint32_t>(team.index());
      arrival = atomic_cycle(self.counters + 1, self.teams - 1);
      if (self.advance && shared->tile[0] == 0) self.pulse.stamps[0] = clock_ns();
    });
    if (Team::sequential) number = shared->tile[0];
    const std::uint64_t now = shared->now;
    for (int turn = 1; number < tile_count; turn ^= 1) {
      const Tile& tile = tiles[number];
      if (tile.info.waits && tile.batch != held) {
        team.each([&](int thread) {
          if (thread == 0) self.await(tile.wait, now);
          for (int i = thread + 1; i < tile.info.waits; i += team.threads())
            self.await(self.waits[tile.info.first_wait + i], now);
        });
        held = tile.batch;
      }
      team.each([&](int thread) {
        // Asked for early: the answer comes while the values move.
        if (thread == 0) next = self.template draw<Team>();
        run_tile(team, tile, self.smalls, now, thread);
        if (thread == 0) shared->tile[turn] = next;
      });
      ++pending;
      number = shared->tile[turn];
      if (number >= tile_count || tiles[number].batch != tile.batch) {
        finish(team, tile, now, pending);
        pending = 0;
      }
    }
    // The last team to have come: all have read the number.
    if (advance)
      team.each([&](int thread) {
        if (thread == 0 && arrival + 1 == self.teams) *self.pulse.sequence = now;
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

void cut_work(const Work& w, std::int64_t tile_bytes, Tile tile, std::vector<Tile>& out) {
  const Mover& m = w.mover;
  const std::int64_t words = m.words() * w.folds, each = std::max<std::int64_t>(1, tile_bytes / m.word);
  const std::int64_t plane_rows = m.extent[1] * w.folds;
  for (tile.first = 0; tile.first < words; tile.first += each) {
    tile.count = static_cast<std::int32_t>(std::min(each, words - tile.first));
    tile.x = static_cast<std::int32_t>(tile.first % m.extent[0]);
    tile.row = static_cast<std::int32_t>(tile.first / m.extent[0] % plane_rows);
    tile.z = static_cast<std::int32_t>(tile.first / (m.extent[0] * plane_rows));
    out.push_back(tile);
  }
}

bool equal(const Ring& a, const Ring& b) {
  return a.bytes == b.bytes && a.depth == b.depth && a.chunks == b.chunks && a.chunk == b.chunk;
}

/// Rows of less than this are moved with those of their twin at the other end of the same rows, whose values share
/// pages of device memory with them.
constexpr std::int64_t thin_row = 64;

/// Words from a box to its twin; false where there is none to speak of.
bool twins(const Mover& a, const Mover& b, std::int64_t& source, std::int64_t& target) {
  if (a.op != Op::copy || a.word != b.word || a.source_ids || a.target_ids || b.source_ids || b.target_ids)
    return false;
  if (a.extent[0] * a.word >= thin_row || a.extent[1] * a.extent[2] < 2) return false;
  for (int d = 0; d < 3; ++d)
    if (a.extent[d] != b.extent[d] || a.source_stride[d] != b.source_stride[d] ||
        a.target_stride[d] != b.target_stride[d])
      return false;
  if (!equal(a.source_ring, b.source_ring) || !equal(a.target_ring, b.target_ring)) return false;
  const std::int64_t from = b.source - a.source, to = b.target - a.target;
  if (from % a.word || to % a.word) return false;
  source = from / a.word, target = to / a.word;
  const auto near = [](std::int64_t delta, std::int64_t row) { return std::abs(delta) <= row; };
  return near(source, a.source_stride[1]) || near(target, a.target_stride[1]);
}

/// Works of fewer words share a tile.
constexpr std::int64_t small_work = 512;
constexpr int smalls_in_tile = 16;

/// The movers of a batch, twins joined.
std::vector<Work> works_of(const std::vector<Mover>& movers) {
  std::vector<Work> works;
  std::vector<bool> taken(movers.size());
  for (std::size_t i = 0; i < movers.size(); ++i) {
    const Mover& m = movers[i];
    if (taken[i] || m.words() == 0) continue;
    require(m.extent[0] < 0x3f000000 && m.extent[1] < 0x3f000000,
            "a box of more than 2^30 words along one axis cannot be moved");
    Work work{m, Divisor(m.extent[0]), Divisor(m.extent[1])};
    for (std::size_t j = i + 1; j < movers.size() && work.folds == 1; ++j)
      if (!taken[j] && twins(m, movers[j], work.source_fold, work.target_fold)) {
        work.folds = 2;
        taken[j] = true;
      }
    works.push_back(work);
  }
  return works;
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

  std::vector<Work> smalls;
  std::vector<Wait> waits;
  std::vector<Signal*> posts;
  std::vector<Ordered> ordered;
  for (std::size_t index = 0; index < batches.size(); ++index) {
    const Scheduled& s = batches[index];
    const Batch& batch = *s.batch;
    std::vector<Tile> tiles, tail;
    if (!batch.movers.empty())
      for (const Work& work : works_of(batch.movers[binding])) {
        Tile tile;
        tile.work = work;
        if (work.mover.words() * work.folds >= small_work) {
          cut_work(work, tile_bytes, tile, tiles);
          continue;
        }
        if (tail.empty() || tail.back().smalls == smalls_in_tile) {
          tail.emplace_back();
          tail.back().first_small = static_cast<std::int32_t>(smalls.size());
        }
        ++tail.back().smalls;
        smalls.push_back(work);
        smalls.back().words = static_cast<std::int32_t>(work.mover.words()) * work.folds;
      }
    tiles.insert(tiles.end(), tail.begin(), tail.end());
    if (tiles.empty()) tiles.emplace_back();
    const BatchInfo info{static_cast<std::uint32_t>(tiles.size()),       static_cast<std::int32_t>(waits.size()),
                         static_cast<std::int32_t>(batch.before.size()), static_cast<std::int32_t>(posts.size()),
                         static_cast<std::int32_t>(batch.after.size()),  s.stamp};
    waits.insert(waits.end(), batch.before.begin(), batch.before.end());
    posts.insert(posts.end(), batch.after.begin(), batch.after.end());
    for (std::size_t t = 0; t < tiles.size(); ++t) {
      tiles[t].batch = static_cast<std::uint32_t>(index);
      tiles[t].info = info;
      if (!batch.before.empty()) tiles[t].wait = batch.before.front();
      ordered.push_back(
          {tiles[t], s.from + (s.to - s.from) * static_cast<double>(t) / static_cast<double>(tiles.size())});
    }
  }
  std::stable_sort(ordered.begin(), ordered.end(), [](const Ordered& a, const Ordered& b) { return a.key < b.key; });
  std::vector<Tile> tiles;
  for (const Ordered& o : ordered) tiles.push_back(o.tile);
  tile_count_ = static_cast<std::uint32_t>(tiles.size());
  teams_ = std::min<int>(teams_, static_cast<int>(tile_count_));
  if (!smalls.empty()) smalls_ = upload_bytes(device, smalls);
  tiles_ = upload_bytes(device, tiles);
  if (!waits.empty()) waits_ = upload(device, waits);
  if (!posts.empty()) posts_ = upload(device, posts);
  counters_ = upload(device, std::vector<std::uint32_t>(2 + batches.size(), 0));
}

std::int64_t Program::bytes() const {
  return static_cast<std::int64_t>(smalls_.bytes() + tiles_.bytes() + waits_.bytes() + posts_.bytes() +
                                   counters_.bytes());
}

void Program::run(Stream& stream, const Pulse& pulse, bool advance) const {
  if (empty()) return;
  RunProgram kernel{reinterpret_cast<const Tile*>(tiles_.data()),
                    reinterpret_cast<const Work*>(smalls_.data()),
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
