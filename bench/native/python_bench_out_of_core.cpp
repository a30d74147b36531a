// Timed code of `slipstream bench out_of_core`: transforms of values in host memory, and the host link.
#include <nanobind/stl/array.h>

#include <slipstream/fft.hpp>

#include "api/fft/python_fft.hpp"
#include "native/python_bench.hpp"
#include "native/timed_loops.hpp"

namespace slipstream::python {
namespace {

/// Rate of the host link over all ranks, in bytes per microsecond; all devices copy at once, each in both directions.
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

/// Bytes in use on the fullest device of this rank by any process, as the driver counts them.
std::size_t memory_used(const Machine& machine) {
  std::size_t most = 0;
  for (const int d : machine.devices_of_rank(world().rank())) {
    const DeviceInfo found = info(machine.device(d).local);
    most = std::max(most, found.memory_total - found.memory_free);
  }
  return most;
}

nb::dict by_batches(const Machine& machine, const Extent& cells, const nb::dict& options, bool in_place, int repeats) {
  const FftOptions chosen = fft_options(options);
  Fft fft(world(), machine, cells, chosen);
  // Arrays have the size of the modes' arrays, because there are at least as many modes as cells.
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
    const auto moved = static_cast<double>(fft.host_bytes_moved() - before);
    found[forward ? "forward_bytes" : "backward_bytes"] = static_cast<std::int64_t>(world().sum_in_rank_order(moved));
  }
  fft.check();
  found["device_bytes"] = fft.bytes_on(streams.at(0).device());
  found["batches"] = fft.describe();
  found["memory_used"] = memory_used(machine);
  return found;
}

/// Copies rows of host memory, separated by gaps, to and from a device on separate streams.
class RowsBothWays {
 public:
  RowsBothWays(Device device, std::int64_t row, std::int64_t rows, RowCopies copies)
      : in_(device),
        out_(device),
        host_{Buffer<std::byte>(device, static_cast<std::size_t>(2 * row * rows), Memory::pinned),
              Buffer<std::byte>(device, static_cast<std::size_t>(2 * row * rows), Memory::pinned)},
        there_{Buffer<std::byte>(device, static_cast<std::size_t>(row * rows)),
               Buffer<std::byte>(device, static_cast<std::size_t>(row * rows))},
        copies_(copies) {
    for (std::size_t way = 0; way < 2; ++way) {
      std::fill(host_[way].span().begin(), host_[way].span().end(), std::byte{1});
      rows_[way] = {host_[way].data(), {static_cast<std::size_t>(2 * row)}, {row, rows, 1}};
    }
  }
  void queue(int times) {
    for (int n = 0; n < times; ++n) {
      copy_rows(in_, rows_[0], there_[0].data(), true, copies_);
      copy_rows(out_, rows_[1], there_[1].data(), false, copies_);
    }
  }
  void finish() {
    in_.synchronize();
    out_.synchronize();
  }
  double bytes() const { return 2.0 * static_cast<double>(there_[0].bytes()); }
  Stream& last() { return out_; }
  void meet(const Event& came) {
    in_.record(came);
    out_.wait(came);
  }

 private:
  Stream in_, out_;
  std::array<Buffer<std::byte>, 2> host_, there_;
  std::array<HostRows, 2> rows_;
  RowCopies copies_;
};

/// Times transforms in device memory and copies of rows in both directions, separately and concurrently.
nb::dict work_with_rows(const Machine& machine, const Extent& cells, std::int64_t row, std::int64_t rows,
                        const std::string& copies, int repeats) {
  require(machine.devices() == 1, ErrorCode::unsupported, "work beside rows is measured on one device");
  const Device device = machine.device(0).local;
  FftOptions options;
  options.type = DType::c64;
  options.scaled = false;
  Fft fft(world(), machine, cells, options);
  Field from(fft.physical(), fft.physical_field("from")), to(fft.spectral(), fft.spectral_field("to"));
  std::vector<Stream> streams;
  streams.emplace_back(device);
  RowsBothWays both(device, row, rows, row_copies_from_string(copies));
  const auto work = [&](int times) {
    for (int n = 0; n < times; ++n) fft.forward(from, to, streams);
  };
  const Event began(device, true), ended(device, true), came(device);
  // Transforms are timed while copies run, or copies while transforms run; the work that is not timed takes longer.
  const auto time = [&](int transforms, int copies_each, bool of_transforms) {
    both.finish();
    synchronize(streams);
    if (of_transforms) both.queue(copies_each);
    if (!of_transforms) work(transforms);
    Stream& timed = of_transforms ? streams[0] : both.last();
    timed.record(began);
    if (of_transforms) work(transforms);
    if (!of_transforms) {
      both.queue(copies_each);
      both.meet(came);
    }
    timed.record(ended);
    both.finish();
    synchronize(streams);
    return 1e3 * milliseconds(began, ended);
  };
  time(2, 2, true);
  const int few = std::max(2, repeats);
  const double transform = time(few, 0, true) / few, copy = time(0, few, false) / few;
  const auto enough = [&](double of, double each) { return 1 + static_cast<int>(3 * few * of / std::max(each, 1.0)); };
  const double with_rows = time(few, std::min(enough(transform, copy), 4096), true) / few;
  const double with_work = time(std::min(enough(copy, transform), 4096), few, false) / few;
  nb::dict found;
  found["transform_us"] = transform;
  found["transform_with_rows_us"] = with_rows;
  found["rows_gbs"] = both.bytes() / copy / 1e3;
  found["rows_with_work_gbs"] = both.bytes() / with_work / 1e3;
  return found;
}

}  // namespace

void bind_bench_out_of_core(nb::module_& m) {
  m.def("memory_used", &memory_used, nb::arg("machine"),
        "Bytes in use on the fullest of this rank's devices, as the driver counts them.");
  m.def("host_duplex", &duplex, nb::arg("machine"), nb::arg("bytes"), nb::arg("repeats"), nb::call_guard<Released>(),
        "Bytes a microsecond between host and devices, all at once and both ways at once. Collective.");
  m.def("fft_by_batches", &by_batches, nb::arg("machine"), nb::arg("cells"), nb::arg("options"), nb::arg("in_place"),
        nb::arg("repeats"),
        "Microseconds of a transform each way of values in host memory, and the bytes that passed. Collective.");
  m.def("work_with_rows", &work_with_rows, nb::arg("machine"), nb::arg("cells"), nb::arg("row"), nb::arg("rows"),
        nb::arg("copies"), nb::arg("repeats"),
        "On one device: microseconds of a transform that stays there, by itself and beside rows that pass both ways; "
        "bytes a nanosecond of the rows, by themselves and beside transforms.");
  m.def(
      "sum_of_ranks", [](double value) { return world().sum_in_rank_order(value); }, nb::arg("value"),
      nb::call_guard<Released>(), "The sum of a number of each rank. Collective.");
}

}  // namespace slipstream::python
