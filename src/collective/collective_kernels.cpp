#include "collective/collective_kernels.hpp"

#include <algorithm>
#include <cstring>

#include <slipstream/launch.hpp>

#include "collective/peer_words.hpp"
#include "device/residency.hpp"
#include "mover/combine.hpp"

namespace slipstream {
inline namespace collective_kernels {

constexpr int most_threads = 1024;

/// Bits of value n: values of any type travel between devices as 64 bits.
SLIP_FN std::uint64_t bits_at(const void* values, DType type, std::int64_t n) {
  if (type == DType::f32) return static_cast<const std::uint32_t*>(values)[n];
  return static_cast<const std::uint64_t*>(values)[n];
}

SLIP_FN void put_bits(void* values, DType type, std::int64_t n, std::uint64_t bits) {
  if (type == DType::f32) {
    static_cast<std::uint32_t*>(values)[n] = static_cast<std::uint32_t>(bits);
  } else {
    static_cast<std::uint64_t*>(values)[n] = bits;
  }
}

template <class T>
SLIP_FN std::uint64_t combine_as(Op op, std::uint64_t a_bits, std::uint64_t b_bits) {
  T a, b;
  std::memcpy(&a, &a_bits, sizeof a);
  std::memcpy(&b, &b_bits, sizeof b);
  const T result = combine(op, a, b);
  std::uint64_t bits = 0;
  std::memcpy(&bits, &result, sizeof result);
  return bits;
}

SLIP_FN std::uint64_t combine_bits(DType type, Op op, std::uint64_t a, std::uint64_t b) {
  if (type == DType::f64) return combine_as<double>(op, a, b);
  if (type == DType::f32) return combine_as<float>(op, a, b);
  return combine_as<std::int64_t>(op, a, b);
}

/// Collects bits(device, value) of a chunk of values in shared memory, then reduces it. The first word is a flag:
/// `bits` sets it on failure, and the reduction is then skipped.
template <class Team, class Bits>
SLIP_FN void fold_chunks(const Team& team, const Fold& fold, void* values, const Bits& bits) {
  std::uint64_t* const failed = team.template shared<std::uint64_t>();
  std::uint64_t* const table = failed + 1;
  for (std::int32_t first = 0; first < fold.values; first += fold.chunk) {
    const std::int32_t width = fold.values - first < fold.chunk ? fold.values - first : fold.chunk;
    team.each([&](int thread) {
      for (std::int32_t n = thread; n < fold.devices * width; n += team.threads())
        table[n] = bits(n / width, first + n % width);
    });
    team.each([&](int thread) {
      if (*failed) return;
      for (std::int32_t v = thread; v < width; v += team.threads())
        put_bits(values, fold.type, first + v,
                 fold_column(fold.devices, table + v, width,
                             [&](std::uint64_t a, std::uint64_t b) { return combine_bits(fold.type, fold.op, a, b); }));
    });
  }
}

struct PeerKernel {
  PeerReduce reduce;
  void* values;

  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    const ReduceState state = *reduce.state;
    if (state.broken) return;
    const std::uint64_t number = state.done + 1;
    std::uint64_t* const failed = team.template shared<std::uint64_t>();
    const Fold& fold = reduce.fold;
    const auto mine = [&](std::int32_t v) { return bits_at(values, fold.type, v); };
    team.each([&](int thread) {
      for (std::int32_t n = thread; n < (fold.devices - 1) * fold.values; n += team.threads()) {
        const std::int32_t other = n / fold.values, v = n % fold.values;
        send_words(reduce, other + (other >= reduce.me), v, number, mine(v));
      }
      if (thread == 0) *failed = 0;
    });
    fold_chunks(team, fold, values, [&](std::int32_t from, std::int32_t v) {
      return from == reduce.me ? mine(v) : receive_words(reduce, from, v, number, failed);
    });
    team.each([&](int thread) {
      if (thread == 0) end_reduction(reduce, number, *failed);
    });
  }
};

struct FoldKernel {
  Fold fold;
  const void* gathered;
  void* values;

  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    std::uint64_t* const failed = team.template shared<std::uint64_t>();
    team.each([&](int thread) {
      if (thread == 0) *failed = 0;
    });
    fold_chunks(team, fold, values, [&](std::int32_t from, std::int32_t v) {
      return bits_at(gathered, fold.type, std::int64_t{from} * fold.values + v);
    });
  }
};

int threads_for(const Fold& fold) {
  return static_cast<int>(std::clamp<std::int64_t>((fold.pairs() + 31) / 32 * 32, 32, most_threads));
}

std::size_t shared_for(const Fold& fold) {
  return (1 + static_cast<std::size_t>(fold.devices) * fold.chunk) * sizeof(std::uint64_t);
}

}  // namespace collective_kernels

Fold::Fold(DType type, Op op, int devices, int values) : type(type), op(op), devices(devices), values(values) {
  const auto words = static_cast<std::int64_t>(most_shared_bytes / sizeof(std::uint64_t)) - 1;
  chunk = static_cast<std::int32_t>(std::clamp<std::int64_t>(words / devices, 1, values));
}

int resident_reduce(Device device, const Fold& fold) {
  return std::max(1, resident_teams<PeerKernel>(device, threads_for(fold), shared_for(fold)));
}

void launch_reduce(Stream& stream, const PeerReduce& reduce, void* values) {
  Residency::of(stream.device()).launch(stream, 1, reduce.resident, [&](int) {
    launch_teams(stream, 1, threads_for(reduce.fold), shared_for(reduce.fold), PeerKernel{reduce, values});
  });
}

void launch_fold(Stream& stream, const Fold& fold, const void* gathered, void* values) {
  launch_teams(stream, 1, threads_for(fold), shared_for(fold), FoldKernel{fold, gathered, values});
}

}  // namespace slipstream
