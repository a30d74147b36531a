// Chooses slabs or pencils. Each process grid that leaves few devices idle is planned and timed. The fastest one is
// cached on disk.
#include "fft/choose.hpp"

#include <algorithm>
#include <cmath>

#include <slipstream/buffer.hpp>

#include "coding/wire.hpp"
#include "exchange/choices.hpp"
#include "exchange/same_on_ranks.hpp"
#include "exchange/tuner_cache.hpp"
#include "fft/decomposition.hpp"
#include "machine/agree.hpp"
#include "machine/clock.hpp"
#include "machine/hash.hpp"
#include "machine/private_communicator.hpp"
#include "machine/same_ranks.hpp"
#include "machine/timeout.hpp"

namespace slipstream::fft {
namespace {

std::string shown(const std::array<int, 2>& grid) { return std::to_string(grid[0]) + " x " + std::to_string(grid[1]); }

class Chooser {
 public:
  Chooser(const Communicator& comm, const Machine& machine, const Extent& cells, const FftOptions& options)
      : comm_(unshared(comm)),
        machine_(machine),
        cells_(cells),
        options_(options),
        how_(options.tune.value_or(TuneOptions{})) {
    options_.tune_process_grid = options_.verify = false;
    if (!options.tune) how_.cache_folder = options.tuner_cache;
    options_.exchange.trace = nullptr;
    options_.exchange.measure_errors = options_.exchange.poison = false;
  }

  /// Chooses a process grid by measurement. If several are equally fast within the noise, the first candidate wins.
  FftProcessGrids run(const Decomposition& cut, std::array<int, 2>& fastest) {
    const std::vector<std::array<int, 2>> candidates = cut.candidates();
    if (candidates.size() < 2) return result_;
    Choices choices{{"the process grid", "slipstream process grids 2"}, key_of(cut), {}, timing_noise};
    for (const auto& grid : candidates) choices.names.push_back(shown(grid));
    const Chosen found = choose_by_time(comm_, choices, how_, [&](std::size_t n) { return measure(candidates[n]); });
    for (std::size_t n = 0; n < candidates.size(); ++n)
      if (std::isfinite(found.seconds[n])) result_.times.push_back({candidates[n], 1e6 * found.seconds[n]});
    if (!found.source.empty()) {
      result_.source = found.source;
      fastest = candidates[found.choice];
    }
    result_.notes.insert(result_.notes.end(), found.notes.begin(), found.notes.end());
    return std::move(result_);
  }

 private:
  /// Key of the cached result: one line with all inputs that the choice depends on.
  std::string key_of(const Decomposition& cut) const {
    GridOptions by_the_rule;
    by_the_rule.boxes = cut.blocks(Stage::physical, true);
    const Grid whole(cells_, machine_, comm_.rank(), by_the_rule);
    std::string key = tuner_key(whole, {}, options_.exchange) + " transforms of " + to_string(options_.type);
    for (const std::int64_t most : options_.highest) key += ' ' + std::to_string(most);
    for (const bool choice : {options_.transposed, options_.scaled, options_.overlap, options_.tune.has_value()})
      key += choice ? " 1" : " 0";
    if (options_.coding.kind != Coding::Kind::raw) key += ' ' + to_string(options_.coding);
    if (options_.parts) key += " parts " + std::to_string(options_.parts);
    if (options_.store) key += *options_.store ? " stored" : " packed";
    return key;
  }

  /// Times a transform forward and back, in one array per device. A grid that fails on one rank is skipped.
  double measure(const std::array<int, 2>& grid) {
    FftOptions options = options_;
    options.process_grid = grid;
    std::optional<Fft> fft;
    std::vector<Buffer<std::byte>> arrays;
    std::vector<Stream> streams;
    std::vector<const void*> u, v;
    std::vector<void*> to_u, to_v;
    const auto goes_on = [&](const Problem& failed_here) {
      const Problem failure = first_failure(comm_, failed_here);
      if (failure && comm_.rank() == 0) result_.notes.push_back(shown(grid) + ": " + failure->what());
      return !failure;
    };
    if (!goes_on(failure_of([&] { fft.emplace(comm_, machine_, cells_, options); }))) return never;
    if (!goes_on(failure_of([&] {
          for (const int d : machine_.devices_of_rank(comm_.rank())) {
            const Device device = machine_.device(d).local;
            streams.emplace_back(device);
            const std::int64_t in = bytes(fft->physical(), d, size_of(options.type));
            const std::int64_t out = bytes(fft->spectral(), d, size_of(fft->spectral_field("").type));
            arrays.emplace_back(device, static_cast<std::size_t>(std::max(in, out)));
            void* const at = arrays.back().data();
            if (in || out) fill(streams.back(), at, 0, arrays.back().bytes());
            if (in) u.push_back(at), to_u.push_back(at);
            if (out) v.push_back(at), to_v.push_back(at);
          }
        })))
      return never;
    const auto there_and_back = [&] {
      const double start = seconds_now();
      fft->forward(u, to_v, streams);
      fft->backward(v, to_u, streams);
      for (Stream& stream : streams) stream.synchronize();
      const double taken = seconds_now() - start;
      fft->check();
      return taken;
    };
    const auto hopeless = [&](double first) { return first > how_.drop_factor * least_; };
    const Trials found = slipstream::measure(comm_, how_, {there_and_back, {}, hopeless});
    if (!goes_on(found.failure)) return never;
    least_ = std::min(least_, found.seconds);
    return found.seconds;
  }

  static std::int64_t bytes(const Grid& grid, int device, std::size_t size) {
    for (const std::int64_t id : grid.local())
      if (grid.block(id).device == device) return grid.block(id).box.volume() * static_cast<std::int64_t>(size);
    return 0;
  }

  // communicator of the timed trials, because a process grid that fails leaves its communicator unusable
  const Communicator comm_;
  const Machine& machine_;
  const Extent& cells_;
  FftOptions options_;
  TuneOptions how_;
  FftProcessGrids result_;
  double least_ = never;  // time in seconds of the fastest process grid that was tried so far
};

}  // namespace

void agree_on_transform(const Communicator& comm, const Machine& machine, const Extent& cells,
                        const FftOptions& options) {
  const bool given = options.process_grid != std::array{0, 0};
  std::string words;
  const Problem refused = failure_of([&] {
    require_ranks_of(comm, machine, "a Fourier transform");
    wait_limit_ns(options.exchange.wait_limit, "a Fourier transform");
    require(!given || !options.tune_process_grid, ErrorCode::unsupported,
            "the process grid " + shown(options.process_grid) +
                " of a Fourier transform was given, and the fastest was asked "
                "for: do one of the two",
            {{"option", "process_grid"}, {"given", shown(options.process_grid)}});
    const Decomposition checked(machine, cells, options);
    wire_of(options.coding, checked.complex_type(), "a Fourier transform");
    words = to_string(cells) + " cells of " + to_string(options.type) + " on " + std::to_string(checked.devices) +
            " devices";
    if (given) words += ", process grid " + shown(options.process_grid);
    if (options.tune_process_grid) words += ", process grid to be measured";
    words += ", highest modes (" + std::to_string(options.highest[0]) + ", " + std::to_string(options.highest[1]) +
             ", " + std::to_string(options.highest[2]) + ")";
    for (const auto& [on, name] : {std::pair{options.transposed, "transposed"},
                                   {options.scaled, "scaled"},
                                   {options.overlap, "overlapped"},
                                   {options.store.value_or(true), "stored"},
                                   {options.gpu_lines, "by the kernels of GPUs"},
                                   {options.tune.has_value(), "tuned"},
                                   {options.verify, "verified"}})
      if (on) words += std::string(", ") + name;
    if (options.coding.kind != Coding::Kind::raw) words += ", coded as " + to_string(options.coding);
    if (options.parts) words += ", in " + std::to_string(options.parts) + " parts";
  });
  agree(comm, refused);
  require_same(comm, hash_of(words), words, "Fourier transforms");
}

FftProcessGrids choose_process_grid(const Communicator& comm, const Machine& machine, const Extent& cells,
                                    FftOptions& options) {
  FftProcessGrids found;
  const bool given = options.process_grid != std::array{0, 0};
  if (given) found.source = "given";
  if (!options.tune_process_grid) return found;
  const Decomposition cut(machine, cells, options);
  return Chooser(comm, machine, cells, options).run(cut, options.process_grid);
}

}  // namespace slipstream::fft
