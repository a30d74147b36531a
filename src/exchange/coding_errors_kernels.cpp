#include "exchange/coding_errors_kernels.hpp"

#include <cmath>

#include <slipstream/launch.hpp>

#include "device/upload.hpp"
#include "route/coded_words.hpp"

namespace slipstream {
inline namespace coding_errors_kernels {

constexpr int teams = 64, threads_of_team = 128;

SLIP_FN double part(double value, int) { return value; }
SLIP_FN double part(float value, int) { return static_cast<double>(value); }
SLIP_FN double part(const Complex<double>& value, int which) { return which ? value.imaginary : value.real; }
template <class Value>
constexpr int parts_of = 1;
template <>
constexpr int parts_of<Complex<double>> = 2;

struct Measure {
  const Work* works;
  std::size_t count;
  std::byte* const* arrays;
  ErrorSums* partial;
  int all_threads;

  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    const Measure& self = *this;
    auto* const scratch = team.template shared<BlockScratch>();
    team.each([&](int thread) {
      const std::int64_t me = static_cast<std::int64_t>(team.index()) * team.threads() + thread;
      const Share share{static_cast<std::uint32_t>(me), static_cast<std::uint32_t>(self.all_threads)};
      ErrorSums sums;
      for (std::size_t n = 0; n < self.count; ++n) {
        const Work& w = self.works[n];
        const std::byte* const first = base_of(w.source, self.arrays);
        const Part all{0, 0, 0, static_cast<std::uint32_t>(w.words)};
        if (w.form != Form::blocks) {
          add_values(w, all, first, share, sums);
        } else if (w.type == DType::f32) {
          add_blocks<Team::sequential>(w, all, reinterpret_cast<const float*>(first), scratch + thread / 32, share,
                                       sums);
        } else {
          add_blocks<Team::sequential>(w, all, reinterpret_cast<const double*>(first), scratch + thread / 32, share,
                                       sums);
        }
      }
      self.partial[me] = sums;
    });
  }

  SLIP_FN static void add(double difference, ErrorSums& sums) {
    if (difference - difference != 0) return;  // one of them is infinite or no number
    const double size = difference < 0 ? -difference : difference;
    if (size > sums.largest) sums.largest = size;
    sums.squares += difference * difference;
    ++sums.numbers;
  }

  SLIP_FN static void add_values(const Work& w, const Part& all, const std::byte* first, Share share, ErrorSums& sums) {
    const Rows rows(w, all);
    const Strides source(w.source);
    with_cast(w.type, w.wire, [&]<class Cast>(Cast) {
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
  SLIP_FN static void add_blocks(const Work& w, const Part& all, const Real* first, BlockScratch* scratch, Share share,
                                 ErrorSums& sums) {
    const Rows rows(w, all);
    each_turn<sequential>(w, all, scratch, share, [&](const BlockTurn<sequential>& turn, std::uint32_t block) {
      OfLane<sequential, Four<Real>> values, decoded;
      bool lost = false;
      load_blocks(w, turn, rows, block, first, values);
      encode_blocks(turn, values, lost);
      decode_blocks(turn, decoded, lost);
      each_of_blocks(w, turn, rows, block, [&](int lane, const LaneCells& cells) {
        for (int i = 0; i < cells_of_lane; ++i)
          if (cells.has(i))
            add(static_cast<double>(decoded[lane].of[i]) - static_cast<double>(values[lane].of[i]), sums);
      });
    });
  }
};

}  // namespace coding_errors_kernels

ErrorProbe::ErrorProbe(Device device, const std::vector<Mover>& movers, const Arrays& arrays)
    : device_(device), arrays_(&arrays), count_(movers.size()) {
  std::vector<Work> works;
  for (const Mover& mover : movers) works.push_back(whole_work(mover, &arrays));
  const bool host = device.backend == Backend::host;
  threads_ = host ? 1 : teams * threads_of_team;
  works_ = upload(device, works);
  partial_ = upload(device, std::vector<ErrorSums>(static_cast<std::size_t>(threads_)));
}

void ErrorProbe::run(Stream& stream) const {
  const bool one = threads_ == 1;
  const Measure kernel{works_.data(), count_, arrays_->count ? arrays_->on_device() : nullptr, partial_.data(),
                       threads_};
  launch_teams(stream, one ? 1 : teams, one ? 1 : threads_of_team, threads_of_team / 32 * sizeof(BlockScratch), kernel);
}

ErrorSums ErrorProbe::sums() const {
  Stream stream(device_);
  Buffer<ErrorSums> here(device_, partial_.size(), Memory::pinned);
  synchronize(device_);
  copy(stream, here.data(), partial_.data(), here.bytes());
  stream.synchronize();
  ErrorSums all;
  for (std::size_t n = 0; n < here.size(); ++n) all.add(here.data()[n]);
  return all;
}

std::int64_t ErrorProbe::bytes() const { return static_cast<std::int64_t>(works_.bytes() + partial_.bytes()); }

}  // namespace slipstream
