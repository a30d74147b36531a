// Timed code of `slipstream bench fft`: a transform on all devices, and one plan of a library on one device.
#include <nanobind/stl/array.h>

#include <slipstream/fft.hpp>

#include "api/fft/python_fft.hpp"
#include "fft/lines.hpp"
#include "native/cufft_xt.hpp"
#include "native/packed_moves.hpp"
#include "native/python_bench.hpp"
#include "native/routes_taken.hpp"
#include "native/timed_loops.hpp"

namespace slipstream::python {

namespace {

/// Times transforms of zeros; each rank holds the values of its own devices.
class Bench {
 public:
  Bench(const Machine& machine, const Extent& cells, const FftOptions& options, int components)
      : machine_(machine),
        components_(components),
        began_(seconds_now()),
        fft_(world(), machine, cells, options),
        setup_seconds_(world().max(seconds_now() - began_)),
        from_(fft_.physical(), several(fft_.physical_field("from"), components)),
        to_(fft_.spectral(), several(fft_.spectral_field("to"), components)) {
    for (const int d : machine.devices_of_rank(world().rank()))
      streams_.emplace_back(machine.device(d).local, Priority::high);
    for (const MessageInfo& message : fft_.messages())
      if (machine.device(message.source).rank == world().rank() && message.source != message.target)
        sent_ += components * static_cast<double>(message.bytes);
  }

  nb::dict measured(const std::string& clock, int repeats, bool with_moves) {
    nb::dict found;
    for (const bool forward : {true, false}) {
      if (!with_moves) break;
      PackedMoves moves(fft_, forward);
      const double us = time(clock, repeats, [&] {
        for (int c = 0; c < components_; ++c) moves.run(streams_);
      });
      const auto sent = static_cast<double>(components_ * moves.sent_bytes(machine_, world().rank()));
      found[forward ? "forward_moves_us" : "backward_moves_us"] = us;
      found[forward ? "forward_packed_bytes" : "backward_packed_bytes"] = world().sum_in_rank_order(sent);
    }
    found["forward_us"] = time(clock, repeats, [&] { fft_.forward(from_, to_, streams_); });
    found["backward_us"] = time(clock, repeats, [&] { fft_.backward(to_, from_, streams_); });
    found["setup_s"] = setup_seconds_;
    found["sent_bytes"] = world().sum_in_rank_order(sent_);
    found["process_grid"] = nb::make_tuple(fft_.process_grid()[0], fft_.process_grid()[1]);
    const auto [stored, moves] = fft_.stored_moves();
    found["stored_moves"] = stored;
    found["moves"] = moves;
    found["routes"] = routes_taken(fft_.messages());
    return found;
  }

 private:
  static FieldOptions several(FieldOptions options, int components) {
    options.components = components;
    return options;
  }
  double time(const std::string& clock, int repeats, const Work& run) {
    const int in_graph = fft_.capturable() ? 5 : 0;
    const double us = clock == "events" ? events_us(streams_, in_graph, repeats, run) : host_us(repeats, [&] {
      run();
      synchronize(streams_);
    });
    fft_.check();
    return us;
  }

  Machine machine_;
  int components_;
  double began_;
  Fft fft_;
  double setup_seconds_, sent_ = 0;
  Field from_, to_;
  std::vector<Stream> streams_;
};

/// Description of one three-dimensional transform for a library, x fastest in input and output.
fft::LineBatch whole(const Extent& cells, DType type) {
  const bool real = type == DType::f32 || type == DType::f64;
  fft::LineBatch batch;
  batch.kind = real ? fft::Kind::real_to_complex : fft::Kind::forward;
  batch.twice = type == DType::f64 || type == DType::c128;
  batch.sizes = {cells[2], cells[1], cells[0]};
  batch.count = 1;
  const std::int64_t modes = real ? cells[0] / 2 + 1 : cells[0];
  batch.from = {cells[0], 1, volume(cells)};
  batch.to = {modes, 1, modes * cells[1] * cells[2]};
  return batch;
}

/// Microseconds of a transform on this rank's first device. All ranks measure, so that all are equally busy.
double local_us(const Machine& machine, const Extent& cells, const std::string& type, int repeats) {
  const Device device = machine.device(machine.devices_of_rank(world().rank()).at(0)).local;
  const fft::LineBatch batch = whole(cells, dtype_from_string(type));
  const std::size_t word = batch.twice ? 8 : 4;
  const auto lines = fft::make_lines(device, batch);
  Buffer<std::byte> from(device, word * (batch.kind == fft::Kind::forward ? 2 : 1) * batch.from.distance),
      to(device, word * 2 * batch.to.distance), workspace(device, lines->workspace());
  lines->use_workspace(workspace.data());
  std::vector<Stream> streams;
  streams.emplace_back(device);
  fill(streams[0], from.data(), 0, from.bytes());
  return events_us(streams, 0, repeats, [&] { lines->run(streams[0], from.data(), to.data()); });
}

/// Times cufftXt on all devices. Returns only `refused`, with the reason, if it is unavailable.
nb::dict several_us(const Machine& machine, const Extent& cells, const std::string& type, int repeats) {
  nb::dict found;
  try {
    require(world().size() == 1, ErrorCode::unsupported,
            "it needs a single process with all GPUs, and there are " + std::to_string(world().size()) +
                " ranks: start one with all GPUs");
    std::vector<Device> devices;
    for (int d = 0; d < machine.devices(); ++d) devices.push_back(machine.device(d).local);
    require(devices.size() > 1, ErrorCode::unsupported, "it is for two GPUs or more, and there is one device");
    require(devices[0].backend == Backend::cuda, ErrorCode::unsupported,
            "it needs GPUs, and these are emulated devices");
    const std::array<double, 2> times = fft::cufft_xt_us(devices, cells, dtype_from_string(type), repeats);
    found["forward_us"] = times[0];
    found["backward_us"] = times[1];
  } catch (const Error& error) {
    found["refused"] = std::string(error.what());
  }
  return found;
}

nb::list bench_fft(const Machine& machine, const Extent& cells, const nb::dict& options, int components,
                   const std::vector<std::string>& clocks, int repeats, bool with_moves) {
  Bench bench(machine, cells, fft_options(options), components);
  nb::list found;
  for (const std::string& clock : clocks) found.append(bench.measured(clock, repeats, with_moves));
  return found;
}

}  // namespace

void bind_bench_fft(nb::module_& m) {
  m.def("fft", &bench_fft, nb::arg("machine"), nb::arg("cells"), nb::arg("options"), nb::arg("components"),
        nb::arg("clocks"), nb::arg("repeats"), nb::arg("moves") = false,
        "Microseconds of one forward and one backward transform of all components by each clock (events, host), "
        "slowest rank; with the bytes of a forward one that leave their device, and the routes between devices. With "
        "`moves` those of the moves that "
        "the engine packs by themselves, and what these send, too. Collective.");
  m.def("fft_local", &local_us, nb::arg("machine"), nb::arg("cells"), nb::arg("type"), nb::arg("repeats"),
        "Microseconds of one plan of FFTW (one thread) or cuFFT for all cells on each rank's first device, the "
        "slowest's. "
        "Collective.");
  m.def("fft_several", &several_us, nb::arg("machine"), nb::arg("cells"), nb::arg("type"), nb::arg("repeats"),
        "Microseconds of one transform each way by cufftXt on all GPUs of one process, by the host's clock: "
        "`forward_us` and `backward_us`, or `refused`, the reason.");
}

}  // namespace slipstream::python
