#include <algorithm>
#include <type_traits>

#include <slipstream/launch.hpp>

#include "device/upload.hpp"
#include "route/program.hpp"
#include "route/tiles.hpp"

namespace slipstream {
namespace {

struct alignas(16) Word16 {
  std::uint64_t low, high;
};

/// Bytes from a ring's first slot to that of this exchange.
SLIP_FN std::int64_t ring_offset(const Ring& ring, std::uint64_t now) {
  if (ring.bytes == 0) return 0;
  // Most rings hold one message or two: no division.
  if (ring.depth == ring.chunks) return ring.chunk * ring.bytes;
  if (ring.depth == 2 * ring.chunks) return (ring.chunk + (now & 1 ? 0 : ring.chunks)) * ring.bytes;
  const std::uint64_t chunk = (now - 1) * static_cast<std::uint64_t>(ring.chunks) + ring.chunk;
  return static_cast<std::int64_t>(chunk % static_cast<std::uint64_t>(ring.depth)) * ring.bytes;
}

/// A piece of a work: its first word, and how many.
struct Part {
  std::int64_t first;
  std::uint32_t x, row, count;
};

/// Where a thread finds the words of a box; in few registers, for the more threads a multiprocessor holds, the more
/// words are on their way.
struct Rows {
  Divisor width, height;
  std::uint32_t fold_shift, x, row;

  SLIP_FN Rows(const Work& w, const Part& part)
      : width(w.width), height(w.height), fold_shift(w.fold_shift), x(part.x), row(part.row) {}

  struct Cell {
    std::uint32_t x, y, z, fold;
  };
  SLIP_FN Cell cell(std::uint32_t n) const {
    const std::uint32_t flat = x + n, rows = width.of(flat), folded = row + rows, all_y = folded >> fold_shift;
    const std::uint32_t z = height.of(all_y);
    return {flat - rows * width.by, all_y - z * height.by, z, folded & fold_shift};
  }
};

/// Kept apart from the table: stores through pointers of unknown origin would have the compiler read it again after
/// each.
struct Strides {
  std::int64_t x, y, z, fold;
  SLIP_FN explicit Strides(const End& end) : x(end.stride[0]), y(end.stride[1]), z(end.stride[2]), fold(end.fold) {}
  SLIP_FN std::int64_t at(const Rows::Cell& c) const { return c.x * x + c.y * y + c.z * z + c.fold * fold; }
};

/// Threads that share a work: this one's number, and how many.
struct Share {
  std::uint32_t thread, threads;
};

/// On one thread: along rows, as plain loops.
template <class Word>
SLIP_FN void copy_rows(const Rows& rows, const Strides& source, const Strides& target, std::uint32_t count,
                       const Word* from, Word* to) {
  std::uint32_t room = rows.width.by - rows.x;
  for (std::uint32_t n = 0; n < count;) {
    const std::uint32_t run = room < count - n ? room : count - n;
    const Rows::Cell cell = rows.cell(n);
    const Word* in = from + source.at(cell);
    Word* out = to + target.at(cell);
    if (source.x == 1 && target.x == 1) {
      for (std::uint32_t i = 0; i < run; ++i) out[i] = in[i];
    } else {
      for (std::uint32_t i = 0; i < run; ++i) out[i * target.x] = in[i * source.x];
    }
    n += run;
    room = rows.width.by;
  }
}

/// Several loads are under way before the first store; places are found anew for it, since registers are dear.
template <class Word>
SLIP_FN void copy_box(const Rows& rows, const Strides& source, const Strides& target, std::uint32_t count,
                      const Word* from, Word* to, Share share) {
  constexpr std::uint32_t flight = 4;
  for (std::uint32_t n = share.thread; n < count; n += flight * share.threads) {
    Word values[flight];
    for (std::uint32_t f = 0; f < flight; ++f)
      if (const std::uint32_t m = n + f * share.threads; m < count) values[f] = from[source.at(rows.cell(m))];
    for (std::uint32_t f = 0; f < flight; ++f)
      if (const std::uint32_t m = n + f * share.threads; m < count) to[target.at(rows.cell(m))] = values[f];
  }
}

/// Values at listed places, at one end or both.
template <class Word>
SLIP_FN void copy_list(const Work& w, const Part& part, const Word* from, Word* to, Share share) {
  const std::int64_t *source_ids = w.source_ids, *target_ids = w.target_ids;
  const std::int64_t source_step = w.source.stride[0], target_step = w.target.stride[0];
  for (std::uint32_t n = share.thread; n < part.count; n += share.threads) {
    const std::int64_t i = part.first + n;
    to[target_ids ? target_ids[i] : i * target_step] = from[source_ids ? source_ids[i] : i * source_step];
  }
}

template <bool sequential, class Word>
SLIP_FN void copy_words(const Work& w, const Part& part, std::uint64_t now, Share share) {
  const auto* from = reinterpret_cast<const Word*>(w.source.base + ring_offset(w.source_ring, now));
  auto* to = reinterpret_cast<Word*>(w.target.base + ring_offset(w.target_ring, now));
  if (w.source_ids || w.target_ids) {
    copy_list(w, part, from, to, share);
  } else if constexpr (sequential) {
    copy_rows(Rows(w, part), Strides(w.source), Strides(w.target), part.count, from, to);
  } else {
    copy_box(Rows(w, part), Strides(w.source), Strides(w.target), part.count, from, to, share);
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

/// Combines all contributions to each value with its own.
template <class T>
SLIP_FN void combine_words(const Work& w, const Part& part, Share share) {
  const Rows rows(w, part);
  const Strides place(w.target);
  auto* target = reinterpret_cast<T*>(w.target.base);
  for (std::uint32_t n = share.thread; n < part.count; n += share.threads) {
    const Rows::Cell cell = rows.cell(n);
    const std::int64_t i = part.first + n;
    T& mine = target[w.target_ids ? w.target_ids[i] : place.at(cell)];
    T sum = mine;
    for (int c = 0; c < w.contribution_count; ++c) {
      const Contribution& from = w.contributions[c];
      const std::int64_t at =
          from.ids ? from.ids[i] : cell.x * from.stride[0] + cell.y * from.stride[1] + cell.z * from.stride[2];
      const T value = reinterpret_cast<const T*>(from.base)[at];
      if (c == 0 && w.own > 0) {
        sum = value;
      } else {
        sum = combined(w.op, sum, value);
      }
      if (c + 1 == w.own) sum = combined(w.op, sum, mine);
    }
    mine = sum;
  }
}

SLIP_FN void combine_work(const Work& w, const Part& part, Share share) {
  switch (w.type) {
    case DType::u8:
      return combine_words<std::uint8_t>(w, part, share);
    case DType::i32:
      return combine_words<std::int32_t>(w, part, share);
    case DType::i64:
      return combine_words<std::int64_t>(w, part, share);
    case DType::f32:
      return combine_words<float>(w, part, share);
    case DType::f64:
      return combine_words<double>(w, part, share);
  }
}

template <bool sequential, bool combines>
SLIP_FN void run_work(const Work& w, const Part& part, std::uint64_t now, Share share) {
  if constexpr (combines) {
    if (w.op != Op::copy) return combine_work(w, part, share);
  }
  switch (w.word) {
    case 1:
      return copy_words<sequential, std::uint8_t>(w, part, now, share);
    case 2:
      return copy_words<sequential, std::uint16_t>(w, part, now, share);
    case 4:
      return copy_words<sequential, std::uint32_t>(w, part, now, share);
    case 8:
      return copy_words<sequential, std::uint64_t>(w, part, now, share);
    case 16:
      return copy_words<sequential, Word16>(w, part, now, share);
  }
}

/// A piece of a large work by all threads, or small works whole, by 32 threads each.
template <bool combines, class Team>
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
    const Part part = whole_team ? Part{tile.first, tile.x, tile.row, static_cast<std::uint32_t>(tile.count)}
                                 : Part{0, 0, 0, static_cast<std::uint32_t>(w.words)};
    run_work<sequential, combines>(w, part, now, share);
  }
}

/// Programs that combine have a kernel of their own: it takes more registers.
template <bool combines>
struct RunProgram {
  static constexpr int threads = 512;
  static constexpr int resident = combines ? 1 : 2;
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
    std::uint32_t* done = counters + 1 + tile.batch;
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
  // alone must find all tiles in their order. Teams draw until they find no tile, and who draws last counts the
  // exchange: all others have read its number.
  template <class Team>
  SLIP_FN std::uint32_t draw(std::uint64_t now) const {
    constexpr bool counted = Team::sequential;
    const std::uint32_t number =
        counted ? atomic_cycle(counters, tile_count + teams - 1) : teams + atomic_cycle(counters, tile_count - 1);
    if (advance && number == tile_count + teams - 1) *pulse.sequence = now;
    return number;
  }

  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    const RunProgram& self = *this;
    auto* shared = team.template shared<Shared>();
    std::uint32_t next = 0, pending = 0, held = ~0u;
    std::uint32_t number = static_cast<std::uint32_t>(team.index());
    team.each([&](int thread) {
      if (thread != 0) return;
      shared->now = load_acquire(self.pulse.sequence) + self.advance;
      shared->tile[0] = Team::sequential ? self.template draw<Team>(shared->now) : number;
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
        if (thread == 0) next = self.template draw<Team>(now);
        run_tile<combines>(team, tile, self.smalls, now, thread);
        if (thread == 0) shared->tile[turn] = next;
      });
      ++pending;
      number = shared->tile[turn];
      if (number >= tile_count || tiles[number].batch != tile.batch) {
        finish(team, tile, now, pending);
        pending = 0;
      }
    }
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

}  // namespace

Program::Program(Device device, const std::vector<Scheduled>& batches, int binding, int teams) {
  if (batches.empty()) return;
  const bool host = device.backend == Backend::host;
  combines_ = combines(batches, binding);
  if (host) {
    teams_ = teams > 0 ? teams : host_threads();
  } else {
    // More would find their first tiles only when others end, which may wait for what those send.
    const int most = info(device).processors * (combines_ ? RunProgram<true>::resident : RunProgram<false>::resident);
    teams_ = teams > 0 ? std::min(teams, most) : most;
  }
  const Table table = cut(batches, binding, teams_);
  tile_count_ = static_cast<std::uint32_t>(table.tiles.size());
  teams_ = std::min<int>(teams_, static_cast<int>(tile_count_));
  bytes_moved_ = table.bytes;
  if (!table.smalls.empty()) smalls_ = upload_bytes(device, table.smalls);
  tiles_ = upload_bytes(device, table.tiles);
  if (!table.waits.empty()) waits_ = upload(device, table.waits);
  if (!table.posts.empty()) posts_ = upload(device, table.posts);
  counters_ = upload(device, std::vector<std::uint32_t>(1 + batches.size(), 0));
}

std::int64_t Program::bytes() const {
  return static_cast<std::int64_t>(smalls_.bytes() + tiles_.bytes() + waits_.bytes() + posts_.bytes() +
                                   counters_.bytes());
}

template <bool combines>
void Program::start(Stream& stream, const Pulse& pulse, bool advance) const {
  using Kernel = RunProgram<combines>;
  const Kernel kernel{reinterpret_cast<const Tile*>(tiles_.data()),
                      reinterpret_cast<const Work*>(smalls_.data()),
                      waits_.data(),
                      posts_.data(),
                      counters_.data(),
                      pulse,
                      advance ? 1u : 0u,
                      tile_count_,
                      static_cast<std::uint32_t>(teams_),
                      bytes_moved_ / teams_};
  const int threads = stream.device().backend == Backend::host ? 1 : Kernel::threads;
  launch_teams(stream, teams_, threads, sizeof(typename Kernel::Shared), kernel);
}

void Program::run(Stream& stream, const Pulse& pulse, bool advance) const {
  if (empty()) return;
  if (combines_) {
    start<true>(stream, pulse, advance);
  } else {
    start<false>(stream, pulse, advance);
  }
}

void post(Stream& stream, Signal* signal, const Signal* sequence) {
  launch_teams(stream, 1, 1, 0, PostKernel{signal, sequence});
}

}  // namespace slipstream
