#include <algorithm>
#include <type_traits>

#include <slipstream/launch.hpp>

#include "device/upload.hpp"
#include "route/program.hpp"
#include "route/tiles.hpp"
#include "route/words.hpp"

namespace slipstream {
namespace {

/// A piece of a large work by all threads, or small works whole, by 32 threads each.
template <bool combines, class Team>
SLIP_FN void run_tile(const Team& team, const Tile& tile, const Work* smalls, const Watch& watch, int thread) {
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
                                 : Part{0, 0, 0, static_cast<std::uint32_t>(counted(w))};
    run_work<sequential, combines>(w, part, watch, share);
  }
}

/// Programs that combine have a kernel of their own: it takes more registers. So have those that transpose: it takes
/// memory of the team.
template <bool combines, bool transposes>
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
    std::uint32_t next;
    std::uint32_t broken;  // 1: the team only draws what is left
    Tile tile[2];          // in turn: the last one is still read when the next one comes
    alignas(16) std::byte square[transposes ? square_bytes : 16];
  };

  /// Whether a tile goes through the team's memory, in two phases.
  template <class Team>
  SLIP_FN static bool in_halves(const Tile& tile) {
    return transposes && !Team::sequential && tile.smalls == 0 && tile.work.form == Form::transpose;
  }
  SLIP_FN static Part whole(const Tile& tile) {
    return {tile.first, tile.x, tile.row, static_cast<std::uint32_t>(tile.count)};
  }

  /// False where the wait gave up.
  SLIP_FN bool await(const Wait& wait, std::uint64_t now) const {
    const std::uint64_t target = now > static_cast<std::uint64_t>(wait.lag) ? now - wait.lag : 0;
    if (load_acquire(wait.signal) >= target) return true;
    const Watch watch{pulse, now, wait.peer};
    if (wait_for(wait.signal, target, watch.broken() ? 0 : pulse.limit_ns)) return true;
    watch.give_up();
    return false;
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
      if (info.stamp) keep_larger(self.pulse.stamps + info.stamp, clock_ns());
      if (!info.posts) return;
      // What the whole team stored comes before the count; what all teams counted, before the counters of the
      // neighbours.
      fence_device();
      if (info.tiles != tiles_done && atomic_add(done, tiles_done) + tiles_done != info.tiles) return;
      if (info.tiles != tiles_done) *done = 0;
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

  /// The tile of a number where all threads read it soon: fields that are read one after the other from the table would
  /// cost its latency each time.
  template <class Team>
  SLIP_FN void fetch(const Team& team, std::uint32_t number, int turn, int thread) const {
    if constexpr (!Team::sequential) {
      constexpr int words = sizeof(Tile) / sizeof(Word16);
      if (thread < words && number < tile_count)
        reinterpret_cast<Word16*>(team.template shared<Shared>()->tile + turn)[thread] =
            reinterpret_cast<const Word16*>(tiles + number)[thread];
    }
  }

  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    const RunProgram& self = *this;
    auto* shared = team.template shared<Shared>();
    std::uint32_t next = 0, pending = 0, held = ~0u;
    std::uint32_t number = static_cast<std::uint32_t>(team.index());
    team.each([&](int thread) {
      self.fetch(team, number, 0, thread);
      if (thread != 0) return;
      // Asked for first: both answers are under way at once.
      const bool broken = *self.pulse.broken != 0;
      shared->now = load_acquire(self.pulse.sequence) + self.advance;
      shared->broken = broken ? 1 : 0;
      if (Team::sequential) shared->next = self.template draw<Team>(shared->now);
      if (self.advance && (Team::sequential ? shared->next : number) == 0) self.pulse.stamps[0] = clock_ns();
    });
    if (Team::sequential) number = shared->next;
    const std::uint64_t now = shared->now;
    for (int turn = 0; number < tile_count; turn ^= 1) {
      const Tile& tile = Team::sequential ? tiles[number] : shared->tile[turn];
      if (tile.info.waits && tile.batch != held) {
        team.each([&](int thread) {
          if (shared->broken) return;
          bool good = thread != 0 || self.await(tile.wait, now);
          for (int i = thread + 1; i < tile.info.waits; i += team.threads())
            good &= self.await(self.waits[tile.info.first_wait + i], now);
          if (!good) shared->broken = 1;
        });
      }
      held = tile.batch;
      const bool halves = in_halves<Team>(tile);
      if constexpr (transposes) {
        if (halves && !shared->broken)
          team.each([&](int thread) {
            const Share share{static_cast<std::uint32_t>(thread), static_cast<std::uint32_t>(team.threads())};
            run_first_half(tile.work, whole(tile), Watch{self.pulse, now, tile.wait.peer}, shared->square, share);
          });
      }
      team.each([&](int thread) {
        // Asked for early: the answer comes while the values move.
        if (thread == 0) next = self.template draw<Team>(now);
        if (!shared->broken) {
          const Watch watch{self.pulse, now, tile.wait.peer};
          if (transposes && halves) {
            const Share share{static_cast<std::uint32_t>(thread), static_cast<std::uint32_t>(team.threads())};
            run_second_half(tile.work, whole(tile), watch, shared->square, share);
          } else {
            run_tile<combines>(team, tile, self.smalls, watch, thread);
          }
        }
        if (thread == 0) shared->next = next;
      });
      ++pending;
      number = shared->next;
      team.each([&](int thread) { self.fetch(team, number, turn ^ 1, thread); });
      const Tile& following = Team::sequential ? tiles[number < tile_count ? number : 0] : shared->tile[turn ^ 1];
      if (number < tile_count && following.batch == held) continue;
      if (!shared->broken) finish(team, tile, now, pending);
      pending = 0;
    }
  }
};

struct PostKernel {
  Signal* signal;
  const Signal *sequence, *broken;
  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    const PostKernel& self = *this;
    team.each([&self](int thread) {
      if (thread == 0 && !load_acquire(self.broken)) store_release(self.signal, *self.sequence);
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

Program::Program(Device device, const std::vector<Scheduled>& batches, const Arrays* arrays, int teams, int users)
    : arrays_(arrays) {
  if (batches.empty()) return;
  const bool host = device.backend == Backend::host;
  combines_ = combines(batches);
  if (host) {
    teams_ = teams > 0 ? teams : host_threads();
  } else {
    // More would find their first tiles only when others end, which may wait for what those send.
    const int resident = combines_ ? RunProgram<true, true>::resident : RunProgram<false, true>::resident;
    const int most = std::max(1, info(device).processors * resident / users);
    teams_ = teams > 0 ? std::min(teams, most) : most;
  }
  const Table table = cut(batches, arrays, teams_);
  transposes_ = transposes(table);
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

template <bool combines, bool transposes>
void Program::start(Stream& stream, const Pulse& given, bool advance) const {
  using Kernel = RunProgram<combines, transposes>;
  Pulse pulse = given;
  pulse.arrays = arrays_ ? arrays_->on_device() : nullptr;
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
  if (transposes_) {
    combines_ ? start<true, true>(stream, pulse, advance) : start<false, true>(stream, pulse, advance);
  } else {
    combines_ ? start<true, false>(stream, pulse, advance) : start<false, false>(stream, pulse, advance);
  }
}

void post(Stream& stream, Signal* signal, const Pulse& pulse) {
  launch_teams(stream, 1, 1, 0, PostKernel{signal, pulse.sequence, pulse.broken});
}

}  // namespace slipstream
