#include <algorithm>

#include <slipstream/launch.hpp>
#include <slipstream/signal.hpp>

#include "device/upload.hpp"
#include "exchange/movers.hpp"

namespace slipstream {
namespace {

constexpr int threads = 256;
constexpr std::int64_t tile = 4 * threads;  // words of one mover that one team moves

struct Word16 {
  std::uint64_t low, high;
};

/// The places of word n on both sides of a mover. Index is 32 bits wide where the mover is small enough: divisions of
/// 64-bit numbers cost more than the copy.
template <class Index>
struct Places {
  std::int64_t source, target;
  SLIP_FN Places(const Mover& m, Index n) {
    const Index width = static_cast<Index>(m.extent[0]), height = static_cast<Index>(m.extent[1]);
    const Index row = n / width, x = n - row * width, z = row / height, y = row - z * height;
    source = m.source_ids ? m.source_ids[n] : x * m.source_stride[0] + y * m.source_stride[1] + z * m.source_stride[2];
    target = m.target_ids ? m.target_ids[n] : x * m.target_stride[0] + y * m.target_stride[1] + z * m.target_stride[2];
  }
};

template <class Word, class Index>
SLIP_FN void move(const Mover& m, Index first, Index last, int thread, std::uint64_t odd) {
  const auto* source = reinterpret_cast<const Word*>(m.source + (odd ? m.source_ring : 0));
  auto* target = reinterpret_cast<Word*>(m.target + (odd ? m.target_ring : 0));
  for (Index n = first + thread; n < last; n += threads) {
    const Places<Index> at(m, n);
    target[at.target] = source[at.source];
  }
}

template <class Word>
SLIP_FN void move(const Mover& m, std::int64_t first, std::int64_t last, int thread, std::uint64_t odd) {
  if (last < 0x40000000) {
    move<Word, std::uint32_t>(m, static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(last), thread, odd);
  } else {
    move<Word, std::uint64_t>(m, static_cast<std::uint64_t>(first), static_cast<std::uint64_t>(last), thread, odd);
  }
}

struct MoveKernel {
  const Mover* movers;
  std::int64_t count;
  const Signal* sequence;

  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    // The last mover whose first tile is not beyond this team.
    std::int64_t low = 0, high = count;
    while (high - low > 1) {
      const std::int64_t middle = (low + high) / 2;
      if (movers[middle].first_tile <= team.index()) {
        low = middle;
      } else {
        high = middle;
      }
    }
    const Mover& m = movers[low];
    const std::int64_t first = (team.index() - m.first_tile) * tile;
    const std::int64_t all = m.extent[0] * m.extent[1] * m.extent[2];
    const std::int64_t last = first + tile < all ? first + tile : all;
    const std::uint64_t odd = *sequence & 1;
    team.each([&](int thread) {
      switch (m.word) {
        case 1:
          move<std::uint8_t>(m, first, last, thread, odd);
          break;
        case 2:
          move<std::uint16_t>(m, first, last, thread, odd);
          break;
        case 4:
          move<std::uint32_t>(m, first, last, thread, odd);
          break;
        case 8:
          move<std::uint64_t>(m, first, last, thread, odd);
          break;
        case 16:
          move<Word16>(m, first, last, thread, odd);
          break;
      }
    });
  }
};

struct AdvanceKernel {
  Signal* sequence;
  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    Signal* counter = sequence;
    team.each([counter](int thread) {
      if (thread == 0) ++*counter;
    });
  }
};

struct WaitKernel {
  const Wait* waits;
  int count;
  const Signal* sequence;
  std::uint64_t limit_ns;
  Failure* failure;
  int phase;

  SLIP_FN void one(const Wait& wait, std::uint64_t now) const {
    const std::uint64_t target = now > static_cast<std::uint64_t>(wait.lag) ? now - wait.lag : 0;
    if (wait_for(wait.signal, target, load_acquire(&failure->set) ? 0 : limit_ns)) return;
    if (load_acquire(&failure->set)) return;
    failure->sequence = now;
    failure->peer = wait.peer;
    failure->phase = phase;
    store_release(&failure->set, 1);
  }

  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    const WaitKernel& self = *this;
    team.each([&self, &team](int thread) {
      const std::uint64_t now = *self.sequence;
      for (int i = thread; i < self.count; i += team.threads()) self.one(self.waits[i], now);
    });
  }
};

struct PostKernel {
  Signal* const* posts;
  int count;
  const Signal* sequence;

  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    const PostKernel& self = *this;
    team.each([&self, &team](int thread) {
      for (int i = thread; i < self.count; i += team.threads()) store_release(self.posts[i], *self.sequence);
    });
  }
};

}  // namespace

MoverTable::MoverTable(Device device, std::vector<Mover> movers) {
  for (Mover& mover : movers) {
    mover.first_tile = tiles_;
    tiles_ += (mover.extent[0] * mover.extent[1] * mover.extent[2] + tile - 1) / tile;
  }
  if (tiles_ > 0) movers_ = upload(device, movers);
}

void MoverTable::run(Stream& stream, const Signal* sequence) const {
  launch_teams(stream, tiles_, threads, 0,
               MoveKernel{movers_.data(), static_cast<std::int64_t>(movers_.size()), sequence});
}

SignalTable::SignalTable(Device device, const std::vector<Wait>& waits, const std::vector<Signal*>& posts) {
  if (!waits.empty()) waits_ = upload(device, waits);
  if (!posts.empty()) posts_ = upload(device, posts);
}

void SignalTable::advance(Stream& stream, Signal* sequence) { launch_teams(stream, 1, 1, 0, AdvanceKernel{sequence}); }

void SignalTable::wait(Stream& stream, const Signal* sequence, std::uint64_t limit_ns, Failure* failure,
                       int phase) const {
  if (waits_.size())
    launch_teams(stream, 1, 32, 0,
                 WaitKernel{waits_.data(), static_cast<int>(waits_.size()), sequence, limit_ns, failure, phase});
}

void SignalTable::post(Stream& stream, const Signal* sequence) const {
  if (posts_.size())
    launch_teams(stream, 1, 32, 0, PostKernel{posts_.data(), static_cast<int>(posts_.size()), sequence});
}

}  // namespace slipstream
