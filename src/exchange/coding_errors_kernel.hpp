#pragma once
// The kernel that measures errors of codings, for the files that instantiate its variants.
#include <type_traits>

#include <slipstream/launch.hpp>

#include "exchange/coding_errors_kernels.hpp"
#include "mover/coded_words.hpp"

namespace slipstream {
inline namespace coding_errors_kernels {

SLIP_FN double part(double value, int) { return value; }
SLIP_FN double part(float value, int) { return static_cast<double>(value); }
SLIP_FN double part(const Complex<double>& value, int which) { return which ? value.imaginary : value.real; }
template <class Value>
constexpr int parts_of = 1;
template <>
constexpr int parts_of<Complex<double>> = 2;

/// Kernel that measures coding errors. `Own`: class of the caller's own coding; void if there is none.
template <class Own>
struct MeasureErrors {
  ErrorMeasure given;

  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    const ErrorMeasure& self = given;
    [[maybe_unused]] auto* const scratch = team.template shared<BlockMemory>();
    team.each([&](int thread) {
      const std::int64_t me = static_cast<std::int64_t>(team.index()) * team.threads() + thread;
      const Share share{static_cast<std::uint32_t>(me), static_cast<std::uint32_t>(self.threads)};
      ErrorSums sums;
      for (std::size_t n = 0; n < self.count; ++n) {
        const Work& w = self.works[n];
        const std::byte* const first = base_of(w.source, self.arrays);
        const Part all{0, 0, 0, static_cast<std::uint32_t>(w.words)};
        if constexpr (std::is_void_v<Own>) {
          if (w.form == Form::blocks) {
            BlockMemory* const mine = scratch + thread / 32;
            w.type == DType::f32
                ? add_blocks<Team::sequential>(w, all, reinterpret_cast<const float*>(first), mine, share, sums)
                : add_blocks<Team::sequential>(w, all, reinterpret_cast<const double*>(first), mine, share, sums);
            continue;
          }
        }
        add_values(w, all, first, share, sums);
      }
      self.partial[me] = sums;
    });
  }

  SLIP_FN static void add(double difference, ErrorSums& sums) {
    if (difference - difference != 0) return;  // skips differences of infinite or NaN values
    const double size = difference < 0 ? -difference : difference;
    if (size > sums.largest) sums.largest = size;
    sums.squares += difference * difference;
    ++sums.numbers;
  }

  SLIP_FN static void add_values(const Work& w, const Part& all, const std::byte* first, Share share, ErrorSums& sums) {
    const Rows rows(w, all);
    const Strides source(w.source);
    with_cast<Own>(w.type, w.wire, [&]<class Cast>(Cast) {
      using Value = typename Cast::Value;
      for (std::uint32_t n = share.thread; n < all.count; n += share.threads) {
        const Value value =
            reinterpret_cast<const Value*>(first)[w.source_ids ? w.source_ids[n] : source.at(rows.cell(n))];
        bool overflow = false;
        const Value decoded = Cast::decode(Cast::encode(value, overflow), overflow);
        for (int p = 0; p < parts_of<Value>; ++p) add(part(decoded, p) - part(value, p), sums);
      }
    });
  }

  template <bool sequential, class Real>
  SLIP_FN static void add_blocks(const Work& w, const Part& all, const Real* first, BlockMemory* memory, Share share,
                                 ErrorSums& sums) {
    with_blocks(w, [&]<class Blocks>(Blocks) {
      each_turn<Blocks, sequential>(w, all, w.source, memory, share, [&](const auto& turn, std::uint32_t block) {
        OfLane<sequential, Four<Real>> values, decoded;
        bool lost = false;
        load_blocks(w, turn, memory->rows, block, memory->places, first, values);
        Blocks::encode(turn, values, lost);
        Blocks::decode(turn, decoded, lost);
        const auto add_one = [&](int lane, int i) {
          add(static_cast<double>(decoded[lane].of[i]) - static_cast<double>(values[lane].of[i]), sums);
        };
        each_of_blocks(
            w, turn, memory->rows, block, w.source, w.source_ids, memory->places,
            [&](int lane, std::int64_t, std::int64_t) {
              for (int i = 0; i < cells_of_lane; ++i) add_one(lane, i);
            },
            [&](int lane, const LaneCells& cells, const LanePlaces&) {
              for (int i = 0; i < cells_of_lane; ++i)
                if (cells.has(i)) add_one(lane, i);
            });
      });
    });
  }
};

/// Launches the kernel that measures coding errors: one thread on the host, several thread blocks on a GPU.
template <class Own>
void start_measure(Stream& stream, const ErrorMeasure& measure) {
  const bool one = measure.threads == 1;
  launch_teams(stream, one ? 1 : error_teams, one ? 1 : error_threads, error_threads / 32 * sizeof(BlockMemory),
               MeasureErrors<Own>{measure});
}

}  // namespace coding_errors_kernels

}  // namespace slipstream
