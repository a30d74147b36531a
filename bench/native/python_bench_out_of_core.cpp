// Times transforms of values in host memory, and the link that these pass, for `slipstream bench out_of_core`.
#include <nanobind/stl/array.h>

#include <slipstream/fft.hpp>

#include "api/fft/python_fft.hpp"
#include "native/python_bench.hpp"
#include "native/timed_loops.hpp"

namespace slipstream::python {
namespace {

/// Bytes a microsecond of this rank's devices, all at once, each both ways at once, in large pieces; of all ranks.
double duplex(const Machine& machine, std::size_t bytes, int repeats) {
  struct Link {
    Stream in, out;
    Buffer<std::byte> from, to, here, there;
  };
  std::vector<Link> links;
  for (const int d : machine.devices_of_rank(world().rank())) {
    const Device device = machine.device(d).local;
    const auto buffer = [&](Memory memory) { return Buffer<std::byte>(device, bytes, memory); };
    links.push_back({Stream(device), Stream(device), buffer(Memory::pinned), buffer(Memory::pinned),
                     buffer(Memory::device), buffer(Memory::device)});
    std::fill(links.back().from.span().begin(), links.back().from.span().end(), std::byte{1});
    std::fill(links.back().to.span().begin(), links.back().to.span().end(), std::byte{1});
  }
  constexpr int pieces = 8;
  const double us = host_us(repeats, [&] {
    for (Link& link : links)
      for (int n = 0; n < pieces; ++n) {
        copy(link.in, link.here.data(), link.from.data(), bytes);
        copy(link.out, link.to.data(), link.there.data(), bytes);
      }
    for (Link& link : links) {
      link.in.synchronize();
      link.out.synchronize();
    }
  });
  return world().sum_in_rank_order(2.0 * pieces * static_cast<double>(bytes * links.size())) / us;
}

nb::dict by_batches(const Machine& machine, const Extent& cells, const nb::dict& options, bool in_place, int repeats) {
  const FftOptions chosen = fft_options(options);
  Fft fft(world(), machine, cells, chosen);
  // Modes are not fewer than cells.
  const Field modes(fft.spectral(), fft.spectral_field("modes"));
  std::optional<Field> apart;
  if (!in_place) apart.emplace(fft.physical(), fft.physical_field("values"));
  const auto arrays = [](const Field& field) {
    std::vector<void*> found;
    for (const std::int64_t id : field.grid().local()) found.push_back(field.data(id));
    return found;
  };
  const std::vector<void*> spectral = arrays(modes), physical = in_place ? spectral : arrays(*apart);
  std::vector<Stream> streams;
  for (const int d : machine.devices_of_rank(world().rank())) streams.emplace_back(machine.device(d).local);
  nb::dict found;
  for (const bool forward : {true, false}) {
    std::int64_t before = 0;
    const double us = host_us(repeats, [&] {
      before = fft.host_bytes_moved();
      if (forward) {
        fft.forward({physical.begin(), physical.end()}, spectral, streams);
      } else {
        fft.backward({spectral.begin(), spectral.end()}, physical, streams);
      }
      synchronize(streams);
    });
    found[forward ? "forward_us" : "backward_us"] = us;
    found[forward ? "forward_bytes" : "backward_bytes"] = fft.host_bytes_moved() - before;
  }
  fft.check();
  found["device_bytes"] = fft.bytes_on(streams.at(0).device());
  found["batches"] = fft.describe();
  return found;
}

}  // namespace

void bind_bench_out_of_core(nb::module_& m) {
  m.def("host_duplex", &duplex, nb::arg("machine"), nb::arg("bytes"), nb::arg("repeats"), nb::call_guard<Released>(),
        "Bytes a microsecond between host and devices, all at once and both ways at once. Collective.");
  m.def("fft_by_batches", &by_batches, nb::arg("machine"), nb::arg("cells"), nb::arg("options"), nb::arg("in_place"),
        nb::arg("repeats"),
        "Microseconds of a transform each way of values in host memory, and the bytes that passed. Collective.");
}

}  // namespace slipstream::python
