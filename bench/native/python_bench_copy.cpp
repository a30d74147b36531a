// Timed copies of `slipstream bench copy`: copy engine and kernels, between a device, the host and a peer.
#include <optional>

#include <slipstream/buffer.hpp>
#include <slipstream/field.hpp>

#include "native/python_bench.hpp"
#include "native/team_copy.hpp"
#include "native/timed_loops.hpp"

namespace slipstream::python {
namespace {

/// A copy to time: its stream, and a function that queues one such copy.
struct Way {
  Stream* stream;
  std::function<void(Stream&)> queue;
};

using Two = std::array<Buffer<std::byte>, 2>;

Two two(Device device, std::size_t bytes, Memory memory) {
  return {Buffer<std::byte>(device, bytes, memory), Buffer<std::byte>(device, bytes, memory)};
}

class CopyBench {
 public:
  /// Allocates buffers of `most` bytes on a device, in host memory and, with peer >= 0, on that peer device.
  CopyBench(const std::string& backend, int index, int peer, std::size_t most, double budget)
      : device_{backend_from_string(backend), index},
        most_(most),
        budget_(budget),
        stream_(device_),
        second_(device_),
        here_(two(device_, most, Memory::device)),
        pinned_(two(device_, most, Memory::pinned)),
        pageable_(device_, most, Memory::host) {
    if (peer >= 0) {
      const Device other{device_.backend, peer};
      require(peer_access(device_, other) && peer_access(other, device_), ErrorCode::unavailable,
              to_string(device_) + " and " + to_string(other) + " do not reach each other's memory");
      there_.emplace(Peer{Stream(other), two(other, most, Memory::device)});
    }
    for (auto* buffers : {&here_, &pinned_})
      for (auto& buffer : *buffers) fill(stream_, buffer.data(), 1, most);
    std::fill(pageable_.span().begin(), pageable_.span().end(), std::byte{1});
    stream_.synchronize();
  }

  nb::dict plain(const std::string& what, std::size_t bytes, std::int64_t teams) {
    require(bytes <= most_, "a copy of " + std::to_string(bytes) + " bytes, of buffers of " + std::to_string(most_));
    return timed(ways(what, bytes, teams), bytes);
  }

  /// `count` pieces of `bytes` bytes from scattered places of the device to equally scattered places on the device, the
  /// host or the peer. Uses one copy each, or a single launch that reads the addresses from a device table.
  nb::dict pieces(const std::string& method, const std::string& direction, std::int64_t count, std::size_t bytes) {
    require(bytes % 8 == 0 && 2 * bytes * static_cast<std::size_t>(count) <= most_,
            std::to_string(count) + " pieces of " + std::to_string(bytes) + " bytes, of buffers of " +
                std::to_string(most_));
    std::byte* const far = direction == "device_to_device" ? here_[1].data()
                           : direction == "device_to_host" ? pinned_[0].data()
                                                           : peer().buffers[0].data();
    std::vector<CopyPiece> list;
    for (std::int64_t n = 0; n < count; ++n) {
      // The number of pieces is a power of two, so an odd stride visits every piece once, and never the adjacent one.
      const auto place = [&](std::int64_t step) { return static_cast<std::size_t>(n * step % count) * 2 * bytes; };
      list.push_back({far + place(5), here_[0].data() + place(3)});
    }
    if (method == "one_by_one")
      return timed({{&stream_,
                     [list, bytes](Stream& s) {
                       for (const CopyPiece& piece : list) slipstream::copy(s, piece.to, piece.from, bytes);
                     }}},
                   bytes * list.size());
    require(method == "one_launch", "unknown method to copy pieces '" + method + "'");
    const Buffer<CopyPiece> table(device_, list.size());
    copy(stream_, table.data(), list.data(), table.bytes());
    stream_.synchronize();
    const std::int64_t teams = all_teams(device_);
    return timed({{&stream_, [&table, count, bytes,
                              teams](Stream& s) { copy_pieces_by_teams(s, table.data(), count, bytes, teams); }}},
                 bytes * list.size());
  }

  /// Times a copy, device work of about the same duration, and both concurrently on two streams. `work`: "arithmetic"
  /// in registers on all processors, or "memory", copies within the device by their kernels.
  nb::dict beside(const std::string& what, std::size_t bytes, std::int64_t teams, const std::string& work) {
    const std::vector<Way> copying = ways(what, bytes, teams);
    require(copying.size() == 1 && bytes <= most_, "beside work goes one copy");
    double alone[2], both;
    {
      Released release;
      alone[0] = many_back_to_back(copying);
      const Way working{&second_, work_of(work, alone[0])};
      alone[1] = many_back_to_back({working});
      both = many_back_to_back({copying[0], working});
    }
    nb::dict row;
    row["copy_us"] = alone[0] * 1e6;
    row["work_us"] = alone[1] * 1e6;
    row["both_us"] = both * 1e6;
    return row;
  }

  /// Copies a region of a pitched device array to or from contiguous memory of the host or the peer.
  nb::dict strided(const std::string& method, const std::string& direction, const Extent& extent, const Pitch& pitch,
                   std::size_t offset, std::int64_t teams) {
    const std::size_t bytes = static_cast<std::size_t>(volume(extent));
    require(bytes <= most_, "a region of " + std::to_string(bytes) + " bytes, of buffers of " + std::to_string(most_));
    const std::size_t reach = offset + static_cast<std::size_t>(extent[2] - 1) * pitch.plane +
                              static_cast<std::size_t>(extent[1] - 1) * pitch.row + static_cast<std::size_t>(extent[0]);
    if (field_.size() < reach) {
      field_ = Buffer<std::byte>();
      field_ = Buffer<std::byte>(device_, reach);
      fill(stream_, field_.data(), 2, reach);
    }
    const Pitch dense{static_cast<std::size_t>(extent[0]), static_cast<std::size_t>(extent[0] * extent[1])};
    std::byte* inside = field_.data() + offset;
    const bool out = direction != "host_to_device";
    std::byte* outside = direction == "device_to_peer" ? peer().buffers[0].data() : pinned_[0].data();
    const auto box = [=](Stream& s, std::byte* far, bool by_kernel) {
      void* to = out ? far : inside;
      const void* from = out ? inside : far;
      const Pitch to_pitch = out ? dense : pitch, from_pitch = out ? pitch : dense;
      if (by_kernel) {
        copy_box_by_teams(s, to, to_pitch, from, from_pitch, extent, teams);
      } else {
        copy_box(s, to, to_pitch, from, from_pitch, extent);
      }
    };
    std::byte* packed = here_[0].data();
    std::function<void(Stream&)> queue;
    if (method == "copy_box") {
      queue = [=](Stream& s) { box(s, outside, false); };
    } else if (method == "zero_copy") {
      queue = [=](Stream& s) { box(s, outside, true); };
    } else if (method == "pack_and_copy" && out) {
      queue = [=](Stream& s) {
        box(s, packed, true);
        copy(s, outside, packed, bytes);
      };
    } else if (method == "pack_and_copy") {
      queue = [=](Stream& s) {
        copy(s, packed, outside, bytes);
        box(s, packed, true);
      };
    } else {
      throw Error(ErrorCode::invalid_argument, "unknown method to copy a region '" + method + "'");
    }
    return timed({{&stream_, queue}}, bytes);
  }

 private:
  struct Peer {
    Stream stream;
    Two buffers;
  };

  Peer& peer() {
    require(there_.has_value(), ErrorCode::unavailable, "a copy to a peer needs a second device");
    return *there_;
  }

  std::vector<Way> ways(const std::string& what, std::size_t bytes, std::int64_t teams) {
    const auto engine = [bytes](Stream& stream, Buffer<std::byte>& to, Buffer<std::byte>& from) {
      return Way{&stream,
                 [to = to.data(), from = from.data(), bytes](Stream& s) { slipstream::copy(s, to, from, bytes); }};
    };
    const auto kernel = [bytes, teams](Stream& stream, Buffer<std::byte>& to, Buffer<std::byte>& from) {
      return Way{&stream, [to = to.data(), from = from.data(), bytes, teams](Stream& s) {
                   copy_by_teams(s, to, from, bytes, teams);
                 }};
    };
    if (what == "host_to_device") return {engine(stream_, here_[0], pinned_[0])};
    if (what == "device_to_host") return {engine(stream_, pinned_[0], here_[0])};
    if (what == "pageable_to_device") return {engine(stream_, here_[0], pageable_)};
    if (what == "device_to_pageable") return {engine(stream_, pageable_, here_[0])};
    if (what == "host_both_ways") return {engine(stream_, here_[0], pinned_[0]), engine(second_, pinned_[1], here_[1])};
    if (what == "device_to_device") return {engine(stream_, here_[1], here_[0])};
    if (what == "device_to_peer") return {engine(stream_, peer().buffers[0], here_[0])};
    if (what == "peer_both_ways")
      return {engine(stream_, peer().buffers[0], here_[0]), engine(peer().stream, here_[1], peer().buffers[1])};
    if (what == "stores_to_host") return {kernel(stream_, pinned_[0], here_[0])};
    if (what == "loads_from_host") return {kernel(stream_, here_[0], pinned_[0])};
    if (what == "stores_to_peer") return {kernel(stream_, peer().buffers[0], here_[0])};
    throw Error(ErrorCode::invalid_argument, "unknown copy '" + what + "'");
  }

  /// Device work that takes between `seconds` and twice as long, to run beside copies.
  std::function<void(Stream&)> work_of(const std::string& kind, double seconds) {
    const std::int64_t teams = all_teams(device_);
    std::function<std::function<void(Stream&)>(std::int64_t)> work;  // builds device work of a given length
    if (kind == "arithmetic") {
      values_ = Buffer<float>(device_, static_cast<std::size_t>(teams) * static_cast<std::size_t>(threads_a_team()));
      work = [this, teams](std::int64_t rounds) {
        return [this, teams, rounds](Stream& s) { compute_by_teams(s, values_.data(), rounds, teams); };
      };
    } else {
      require(kind == "memory", "unknown concurrent work '" + kind + "'");
      const std::size_t half = std::min<std::size_t>(most_ / 2, 8 << 20) / 16 * 16;
      work = [at = here_[1].data(), half, teams](std::int64_t copies) {
        return [=](Stream& s) {
          for (std::int64_t n = 0; n < copies; ++n) copy_by_teams(s, at + half, at, half, teams);
        };
      };
    }
    // The length of the work is found by doubling, because launch overhead hides short work.
    std::int64_t length = 1;
    while (length < (std::int64_t{1} << 30) && back_to_back({{&second_, work(length)}}, 2) < seconds) length *= 2;
    return work(length);
  }

  /// Device seconds per copy: median of three rounds of back_to_back() that fill the time budget, after a warm-up.
  double many_back_to_back(const std::vector<Way>& ways) {
    const double once = back_to_back(ways, 2);
    const int count = std::clamp(static_cast<int>(budget_ / once), 2, 500);
    std::vector<double> rounds;
    for (int round = 0; round < 3; ++round) rounds.push_back(back_to_back(ways, count));
    return median(rounds);
  }

  nb::dict timed(const std::vector<Way>& ways, std::size_t bytes) {
    Released release;
    const double single = median_seconds(budget_, 3, 200, [&] {
      for (const Way& way : ways) way.queue(*way.stream);
      for (const Way& way : ways) way.stream->synchronize();
    });
    const int count = std::clamp(static_cast<int>(budget_ / single), 2, 500);
    std::vector<double> rounds;
    for (int round = 0; round < 3; ++round) rounds.push_back(back_to_back(ways, count));
    nb::gil_scoped_acquire acquire;
    nb::dict row;
    const double each = median(rounds), moved = static_cast<double>(bytes * ways.size());
    row["single_us"] = single * 1e6;
    row["back_to_back_us"] = each * 1e6;
    row["gbs"] = moved / each * 1e-9;
    row["copies"] = count;
    return row;
  }

  /// Device seconds per copy with `count` copies in each stream. Streams start together; the time ends with the last.
  double back_to_back(const std::vector<Way>& ways, int count) {
    const Event start(device_, true), end(device_, true);
    stream_.record(start);
    for (const Way& way : ways)
      if (way.stream != &stream_) way.stream->wait(start);
    // Copies alternate between streams, because a filled stream would otherwise have the link to itself until the other
    // begins.
    for (int n = 0; n < count; ++n)
      for (const Way& way : ways) way.queue(*way.stream);
    for (const Way& way : ways) {
      if (way.stream == &stream_) continue;
      const Event last(way.stream->device());
      way.stream->record(last);
      stream_.wait(last);
    }
    stream_.record(end);
    stream_.synchronize();
    return milliseconds(start, end) * 1e-3 / count;
  }

  Device device_;
  std::size_t most_;
  double budget_;
  Stream stream_, second_;
  Two here_, pinned_;
  Buffer<std::byte> pageable_;
  Buffer<std::byte> field_;
  Buffer<float> values_;
  std::optional<Peer> there_;
};

/// Regions that halos of one f32 quantity read in a block: {bytes per row, rows, planes}, pitches and first byte.
nb::dict faces(std::int64_t cells, std::int64_t radius) {
  FieldOptions options;
  options.ghost = {radius, radius, radius};
  const BlockShape shape = block_shape({cells, cells, cells}, options);
  nb::dict all;
  for (int axis = 0; axis < 3; ++axis) {
    Extent extent{cells, cells, cells};
    extent[axis] = radius;
    extent[0] *= 4;
    nb::dict face;
    face["extent"] = extent;
    face["row_pitch"] = 4 * shape.stride[1];
    face["plane_pitch"] = 4 * shape.stride[2];
    face["offset"] = 4 * shape.origin;
    all[axis == 0 ? "x face" : axis == 1 ? "y face" : "z face"] = face;
  }
  return all;
}

}  // namespace

void bind_bench_copy(nb::module_& m) {
  m.def("faces", &faces, nb::arg("cells"), nb::arg("radius"));
  nb::class_<CopyBench>(m, "CopyBench", "Times copies between one device, its host and a peer.")
      .def(nb::init<const std::string&, int, int, std::size_t, double>(), nb::arg("backend"), nb::arg("index"),
           nb::arg("peer"), nb::arg("most"), nb::arg("budget"))
      .def("plain", &CopyBench::plain, nb::arg("what"), nb::arg("bytes"), nb::arg("teams") = 0)
      .def("pieces", &CopyBench::pieces, nb::arg("method"), nb::arg("direction"), nb::arg("count"), nb::arg("bytes"))
      .def("beside", &CopyBench::beside, nb::arg("what"), nb::arg("bytes"), nb::arg("teams"), nb::arg("work"))
      .def(
          "strided",
          [](CopyBench& self, const std::string& method, const std::string& direction, const Extent& extent,
             std::size_t row_pitch, std::size_t plane_pitch, std::size_t offset, std::int64_t teams) {
            return self.strided(method, direction, extent, {row_pitch, plane_pitch}, offset, teams);
          },
          nb::arg("method"), nb::arg("direction"), nb::arg("extent"), nb::arg("row_pitch"), nb::arg("plane_pitch"),
          nb::arg("offset"), nb::arg("teams"));
  m.def("all_teams", [](const std::string& backend, int index) {
    return all_teams({backend_from_string(backend), index});
  });
}

}  // namespace slipstream::python
