#pragma once
// The kernel that runs the copies of an exchange, for the files that instantiate its variants.
#include <algorithm>
#include <cstdint>

#include <slipstream/launch.hpp>

#include "mover/coded_words.hpp"
#include "mover/program.hpp"
#include "mover/tiles.hpp"
#include "mover/words.hpp"

namespace slipstream {

/// Moves a tile: a piece of a large copy with all threads, or several small copies with 32 threads each.
template <bool combines, Coded coded, class Own, class Team>
SLIP_FN void run_tile(const Team& team, const Tile& tile, const Work* smalls, const Watch& watch, void* scratch,
                      int thread) {
  constexpr bool sequential = Team::sequential;
  const bool whole_team = tile.smalls == 0;
  constexpr int group = sequential ? 1 : 32;
  const int groups = whole_team ? 1 : team.threads() / group;
  Share share{static_cast<std::uint32_t>(thread), static_cast<std::uint32_t>(team.threads())};
  if (!whole_team) share = {static_cast<std::uint32_t>(thread % group), group};
  const int last = whole_team ? 1 : tile.smalls;
  // One loop serves large and small copies: the inlined code is large and should exist once.
  for (int s = whole_team ? 0 : thread / group; s < last; s += groups) {
    const Work& w = whole_team ? tile.work : smalls[tile.first_small + s];
    const Part part = whole_team ? Part{tile.first, tile.x, tile.row, static_cast<std::uint32_t>(tile.count)}
                                 : Part{0, 0, 0, static_cast<std::uint32_t>(counted(w))};
    if constexpr (coded != Coded::none) {
      if (w.recode != Recode::none) {
        run_coded<sequential, combines, coded == Coded::in_blocks, Own>(
            w, part, watch, static_cast<BlockMemory*>(scratch) + thread / 32, share);
        continue;
      }
    }
    run_work<sequential, combines>(w, part, watch, share);
  }
}

/// Separate kernels keep the registers and shared memory of simple programs low. Combining takes more registers, and
/// transposing takes shared memory. Encoding and decoding add much code, so there is a kernel for single values, one
/// for blocks, and one for each coding of the caller.
template <bool combines, bool transposes, Coded coded, class Own = void>
struct RunProgram {
  static constexpr int threads = team_threads;
  static constexpr int resident = combines ? 1 : 2;
  static_assert(threads / 32 * sizeof(BlockMemory) <= square_bytes);
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
    std::uint32_t broken;  // 1 once a wait has timed out: the thread block then only skips tiles
    Tile tile[2];          // two buffers, because the last tile is still read while the next one is loaded
    alignas(16) std::byte square[transposes ? square_bytes : 16];
  };

  /// Whether a tile (part of a copy) permutes axes: it transposes its values in shared memory, in two phases.
  template <class Team>
  SLIP_FN static bool in_halves(const Tile& tile) {
    return transposes && !Team::sequential && tile.smalls == 0 && tile.work.form == Form::transpose;
  }
  SLIP_FN static Part whole(const Tile& tile) {
    return {tile.first, tile.x, tile.row, static_cast<std::uint32_t>(tile.count)};
  }

  SLIP_FN static void second_half(const Work& w, const Part& part, const Watch& watch, const void* square,
                                  Share share) {
    if constexpr (coded != Coded::none) {
      if (w.recode != Recode::none) return recode_second_half<Own>(w, part, watch, square, share);
    }
    run_second_half(w, part, watch, square, share);
  }

  /// Waits for a counter on the device. Returns false if the wait timed out.
  SLIP_FN bool await(const Wait& wait, std::uint64_t now) const {
    const std::uint64_t target = now > static_cast<std::uint64_t>(wait.lag) ? now - wait.lag : 0;
    const Watch watch{pulse, now, wait.peer};
    if (load_acquire(wait.signal) < target && !wait_for(wait.signal, target, watch.broken() ? 0 : pulse.limit_ns)) {
      watch.give_up();
      return false;
    }
    if (!wait.into_field || !watch.broken()) return true;
    watch.tell_of_end();
    return false;
  }

  /// Counts finished work items of a batch of copies. The thread block that counts the last one signals the end.
  template <class Team>
  SLIP_FN void finish(const Team& team, const Tile& tile, std::uint64_t now, std::uint32_t tiles_done) const {
    const BatchInfo& info = tile.info;
    if (!info.posts && !info.stamp) return;
    const RunProgram& self = *this;
    std::uint32_t* done = counters + 1 + info.counter;
    team.each([&](int thread) {
      if (thread != 0) return;
      if (info.stamp) keep_larger(self.pulse.stamps + info.stamp, clock_ns());
      if (!info.posts) return;
      // The first fence orders the thread block's stores before the count. The second orders the stores of all thread
      // blocks before the neighbours' counters.
      fence_device();
      if (info.tiles != tiles_done && atomic_add(done, tiles_done) + tiles_done != info.tiles) return;
      if (info.tiles != tiles_done) *done = 0;
      fence_system();
      for (int i = 0; i < info.posts; ++i) store_fenced(self.posts[info.first_post + i], now);
    });
  }

  // Takes the next tile. On a GPU all thread blocks are resident, so the first tile of a block is its own number. On
  // the host a block that runs alone must find all tiles in order, so it draws the first one too. Every block draws
  // until no tile is left. The last draw advances the exchange's number, because all other blocks have read it by then.
  template <class Team>
  SLIP_FN std::uint32_t draw(std::uint64_t now) const {
    constexpr bool counted = Team::sequential;
    const std::uint32_t number =
        counted ? atomic_cycle(counters, tile_count + teams - 1) : teams + atomic_cycle(counters, tile_count - 1);
    if (advance && number == tile_count + teams - 1) *pulse.sequence = now;
    return number;
  }

  /// Copies the descriptor of a tile (share of a copy) to shared memory before a thread block needs it. Reading its
  /// members one by one from device memory would cost the memory's latency each time.
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
      // The failure flag is loaded before `sequence`, so that both loads overlap.
      const bool broken = *self.pulse.broken != 0;
      shared->now = load_acquire(self.pulse.sequence) + self.advance;
      shared->broken = broken ? 1 : 0;
      if (broken) Watch{self.pulse, shared->now, -1}.tell_of_end();
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
        // The number of the next work item is fetched early, so that the atomic's latency overlaps with copies.
        if (thread == 0) next = self.template draw<Team>(now);
        if (!shared->broken) {
          const Watch watch{self.pulse, now, tile.wait.peer};
          if (transposes && halves) {
            const Share share{static_cast<std::uint32_t>(thread), static_cast<std::uint32_t>(team.threads())};
            second_half(tile.work, whole(tile), watch, shared->square, share);
          } else {
            run_tile<combines, coded, Own>(team, tile, self.smalls, watch, shared->square, thread);
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

/// Number of thread blocks of a variant of the copying kernel that a multiprocessor holds at once.
template <bool combines, Coded coded, class Own>
int resident_of_form(Device device) {
  using Kernel = RunProgram<combines, true, coded, Own>;
  return std::clamp(resident_teams<Kernel>(device, Kernel::threads, sizeof(typename Kernel::Shared)), 1,
                    Kernel::resident);
}

/// Launches a variant of the kernel that runs an exchange's copies.
template <bool combines, bool transposes, Coded coded, class Own>
void start_program(Stream& stream, const ProgramParts& parts, const Pulse& pulse, bool advance) {
  using Kernel = RunProgram<combines, transposes, coded, Own>;
  const Kernel kernel{static_cast<const Tile*>(parts.tiles),
                      static_cast<const Work*>(parts.smalls),
                      parts.waits,
                      parts.posts,
                      parts.counters,
                      pulse,
                      advance ? 1u : 0u,
                      parts.tile_count,
                      static_cast<std::uint32_t>(parts.teams),
                      parts.cost};
  const int threads = stream.device().backend == Backend::host ? 1 : Kernel::threads;
  launch_teams(stream, parts.teams, threads, sizeof(typename Kernel::Shared), kernel);
}

/// Kernels that copy with one kind of number conversion. Copies without conversion and transposes have a simpler one.
template <Coded coded, class Own = void>
ProgramKernels program_kernels_of() {
  return {[](Device device, bool combines) {
            return combines ? resident_of_form<true, coded, Own>(device) : resident_of_form<false, coded, Own>(device);
          },
          [](Stream& stream, const ProgramParts& parts, bool combines, const Pulse& pulse, bool advance) {
            if constexpr (coded == Coded::none)
              if (!parts.transposes)
                return combines ? start_program<true, false, coded, Own>(stream, parts, pulse, advance)
                                : start_program<false, false, coded, Own>(stream, parts, pulse, advance);
            combines ? start_program<true, true, coded, Own>(stream, parts, pulse, advance)
                     : start_program<false, true, coded, Own>(stream, parts, pulse, advance);
          }};
}

}  // namespace slipstream
