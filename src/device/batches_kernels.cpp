#include <slipstream/batches.hpp>

#include <algorithm>
#include <sstream>

#include <slipstream/launch.hpp>
#include <slipstream/trace.hpp>

#include "device/names.hpp"
#include "device/word16.hpp"

namespace slipstream {
inline namespace batches_kernels {

constexpr std::pair<const char*, RowCopies> names[] = {{"measured", RowCopies::measured},
                                                       {"single", RowCopies::single},
                                                       {"pitched", RowCopies::pitched},
                                                       {"kernel", RowCopies::kernel},
                                                       {"mixed", RowCopies::mixed}};

/// This many thread blocks saturate a link to the host (Appelhans, GTC 2018), and leave the rest of the device free.
constexpr int teams = 16, threads = 512;

/// Copies rows between host memory and a device. A thread block takes every 16th row, adjacent threads adjacent words.
template <class Word>
struct CopyRows {
  const std::byte* from;
  std::byte* to;
  std::int64_t from_row, from_plane, to_row, to_plane, words, rows, all;
  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    const CopyRows copy = *this;
    const std::int64_t first = team.index();
    team.each([copy, first](int thread) {
      for (std::int64_t n = first; n < copy.all; n += teams) {
        const std::int64_t row = n % copy.rows, plane = n / copy.rows;
        const auto* const source =
            reinterpret_cast<const Word*>(copy.from + row * copy.from_row + plane * copy.from_plane);
        auto* const target = reinterpret_cast<Word*>(copy.to + row * copy.to_row + plane * copy.to_plane);
        for (std::int64_t i = thread; i < copy.words; i += threads) target[i] = source[i];
      }
    });
  }
};

/// A copy of rows between host memory and a device's buffer, in either direction.
struct Way {
  std::byte *from, *to;
  Pitch from_pitch, to_pitch;
  Extent extent;
};

Pitch pitch_in_buffer(const HostRows& rows) {
  const auto row = static_cast<std::size_t>(rows.extent[0]);
  return rows.in_buffer.row ? rows.in_buffer : Pitch{row, row * static_cast<std::size_t>(rows.extent[1])};
}

Way way_of(const HostRows& rows, std::byte* buffer, bool in) {
  Way way{static_cast<std::byte*>(rows.host), buffer + rows.at, rows.pitch, pitch_in_buffer(rows), rows.extent};
  if (in) return way;
  std::swap(way.from, way.to);
  std::swap(way.from_pitch, way.to_pitch);
  return way;
}

/// Offset in the device buffer, in bytes, just past the copy of these host rows.
std::int64_t end_of(const HostRows& rows) {
  const Pitch pitch = pitch_in_buffer(rows);
  return rows.at + rows.extent[0] + (rows.extent[1] - 1) * static_cast<std::int64_t>(pitch.row) +
         (rows.extent[2] - 1) * static_cast<std::int64_t>(pitch.plane);
}

template <class Word>
void by_kernel(Stream& stream, const Way& way) {
  const auto bytes = [](std::size_t n) { return static_cast<std::int64_t>(n); };
  const CopyRows<Word> copy{way.from,
                            way.to,
                            bytes(way.from_pitch.row),
                            bytes(way.from_pitch.plane),
                            bytes(way.to_pitch.row),
                            bytes(way.to_pitch.plane),
                            way.extent[0] / bytes(sizeof(Word)),
                            way.extent[1],
                            way.extent[1] * way.extent[2]};
  launch_teams(stream, teams, threads, 0, copy);
}

/// Copies rows by a kernel, in the longest words that divide all offsets and lengths on both sides.
void copy_by_kernel(Stream& stream, const Way& way) {
  const std::uintptr_t all = reinterpret_cast<std::uintptr_t>(way.from) | reinterpret_cast<std::uintptr_t>(way.to) |
                             way.from_pitch.row | way.from_pitch.plane | way.to_pitch.row | way.to_pitch.plane |
                             static_cast<std::uintptr_t>(way.extent[0]);
  if (all % 16 == 0) return by_kernel<Word16>(stream, way);
  if (all % 4 == 0) return by_kernel<std::uint32_t>(stream, way);
  by_kernel<std::uint8_t>(stream, way);
}

void copy_pitched(Stream& stream, const Way& way) {
  copy_box(stream, way.to, way.to_pitch, way.from, way.from_pitch, way.extent);
}

void copy_single(Stream& stream, const Way& way) {
  for (std::int64_t k = 0; k < way.extent[2]; ++k)
    for (std::int64_t j = 0; j < way.extent[1]; ++j) {
      const auto row = [&](const Pitch& pitch) {
        return j * static_cast<std::int64_t>(pitch.row) + k * static_cast<std::int64_t>(pitch.plane);
      };
      copy(stream, way.to + row(way.to_pitch), way.from + row(way.from_pitch), static_cast<std::size_t>(way.extent[0]));
    }
}

/// Merges array rows that are contiguous both in host memory and in the device buffer, for fewer and longer copies.
HostRows joined(HostRows rows) {
  rows.in_buffer = pitch_in_buffer(rows);
  for (int times = 0; times < 2; ++times) {
    auto& [row, high, deep] = rows.extent;
    const auto bytes = static_cast<std::size_t>(row);
    if (high > 1 && (rows.pitch.row != bytes || rows.in_buffer.row != bytes)) break;
    row *= high;
    high = deep;
    deep = 1;
    for (Pitch* pitch : {&rows.pitch, &rows.in_buffer})
      *pitch = {pitch->plane, pitch->plane * static_cast<std::size_t>(high)};
  }
  return rows;
}

bool without_gaps(const HostRows& rows) { return rows.extent[1] == 1 && rows.extent[2] == 1; }

}  // namespace batches_kernels

std::string to_string(RowCopies copies) { return name_in(names, copies); }

RowCopies row_copies_from_string(const std::string& name) {
  return value_in(names, name, "no way to copy rows is named", "host_copies");
}

void copy_rows(Stream& stream, const HostRows& rows, std::byte* buffer, bool in, RowCopies copies) {
  if (copies == RowCopies::mixed) copies = in ? RowCopies::pitched : RowCopies::kernel;
  const Way way = way_of(rows, buffer, in);
  if (copies == RowCopies::single) return copy_single(stream, way);
  if (copies == RowCopies::kernel) return copy_by_kernel(stream, way);
  if (!without_gaps(joined(rows))) return copy_pitched(stream, way);
  copy(stream, way.to, way.from, static_cast<std::size_t>(volume(rows.extent)));
}

Batches::OfDevice::OfDevice(Device device)
    : in(device),
      out(device),
      start(device),
      arrived{Event(device), Event(device), Event(device), Event(device)},
      worked{Event(device), Event(device), Event(device), Event(device)},
      moved{Event(device), Event(device), Event(device), Event(device)},
      left{Event(device), Event(device), Event(device), Event(device)} {}

Batches::Batches(const std::vector<Device>& devices, std::int64_t bytes_of_buffer, BatchOptions options, bool moves)
    : size_(bytes_of_buffer), number_(moves ? buffers_of_moves : buffers), options_(options) {
  for (const Device device : devices) {
    devices_.emplace_back(device);
    // If values of batches move between devices, other processes store into these buffers, so memory is shared.
    for (int n = 0; n < number_; ++n)
      devices_.back().memory.emplace_back(device, static_cast<std::size_t>(size_),
                                          moves ? Memory::shared : Memory::device);
    between_.emplace_back(device);
  }
}

// Without moves between devices, batch n of host data goes to device buffer n (mod 4), where batch n + 1 stores its
// result. Batch n - 3's result must have left it. With moves, input, send and receive buffers are two each.
void Batches::run(std::vector<Stream>& streams, std::int64_t count, const Rows& rows, const Work& work,
                  BatchMove* move_of_batch) {
  if (count == 0) return;
  const bool moves = move_of_batch != nullptr;
  const auto place = [](std::int64_t batch) { return static_cast<std::size_t>((batch + buffers) % buffers); };
  const auto come = [&](std::size_t d, std::int64_t batch) {
    return at(d, static_cast<int>(moves ? batch % 2 : batch % buffers));
  };
  const auto result = [&](std::size_t d, std::int64_t batch) {
    return moves ? send_buffer(d, static_cast<int>(batch % 2)) : at(d, static_cast<int>(place(batch - 1)));
  };
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    OfDevice& device = devices_[d];
    streams[d].record(device.start);
    for (Stream* stream : {&device.in, &device.out, &between_[d]}) stream->wait(device.start);
  }
  std::vector<std::array<HostBatch, buffers>> known(devices_.size());
  const auto bring = [&](std::int64_t batch) {
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      OfDevice& device = devices_[d];
      known[d][place(batch)] = rows(d, batch);
      if (options_.synchronous) {
        if (batch >= 1) device.in.wait(device.left[place(batch - 1)]);
      } else if (moves && batch >= 2) {
        device.in.wait(device.worked[place(batch - 2)]);
      } else if (batch >= 3) {
        device.in.wait(device.left[place(batch - 3)]);
      }
      {
        const DeviceSpan span(options_.trace, device.in, "in", "rows come", "copy");
        for (const HostRows& part : known[d][place(batch)].in) move(device, part, come(d, batch), true);
      }
      device.in.record(device.arrived[place(batch)]);
    }
  };
  const auto leave = [&](std::size_t d, const std::vector<HostRows>& parts, std::byte* from) {
    if (parts.empty()) return;
    const DeviceSpan span(options_.trace, devices_[d].out, "out", "rows leave", "copy");
    for (const HostRows& part : parts) move(devices_[d], part, from, false);
  };
  const auto land = [&](std::int64_t batch) {
    move_of_batch->end(batch, between_);
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      OfDevice& device = devices_[d];
      between_[d].record(device.moved[place(batch)]);
      device.out.wait(device.moved[place(batch)]);
      leave(d, known[d][place(batch)].received, receive_buffer(d, static_cast<int>(batch % 2)));
      device.out.record(device.left[place(batch)]);
    }
  };
  bring(0);
  for (std::int64_t batch = 0; batch < count; ++batch) {
    if (batch + 1 < count && !options_.synchronous) bring(batch + 1);
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      OfDevice& device = devices_[d];
      streams[d].wait(device.arrived[place(batch)]);
      if (moves && batch >= 2) streams[d].wait(device.left[place(batch - 2)]);
      {
        const DeviceSpan span(options_.trace, streams[d], "work", "work", "kernel");
        work(streams[d], d, batch, come(d, batch), result(d, batch));
      }
      streams[d].record(device.worked[place(batch)]);
    }
    // Ends the move of the previous batch between devices, which was concurrent with the work on this batch.
    if (moves && batch > 0 && !options_.synchronous) land(batch - 1);
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      OfDevice& device = devices_[d];
      device.out.wait(device.worked[place(batch)]);
      leave(d, known[d][place(batch)].out, result(d, batch));
      if (!moves) device.out.record(device.left[place(batch)]);
      if (!moves) continue;
      between_[d].wait(device.worked[place(batch)]);
      if (batch >= 2) between_[d].wait(device.left[place(batch - 2)]);
    }
    if (moves) move_of_batch->begin(batch, between_);
    if (moves && (options_.synchronous || batch + 1 == count)) land(batch);
    if (batch + 1 < count && options_.synchronous) bring(batch + 1);
  }
  for (std::size_t d = 0; d < devices_.size(); ++d) streams[d].wait(devices_[d].left[place(count - 1)]);
}

void Batches::move(OfDevice& device, const HostRows& given, std::byte* buffer, bool in) {
  const std::int64_t bytes = volume(given.extent);
  if (bytes <= 0) return;
  const HostRows rows = joined(given);
  require(rows.at >= 0 && end_of(rows) <= size_, ErrorCode::invalid_argument,
          "rows of " + std::to_string(bytes) + " bytes do not fit a batch of " + std::to_string(size_),
          {{"bytes", end_of(rows)}, {"limit", size_}});
  moved_ += bytes;
  const RowCopies how = without_gaps(rows) ? RowCopies::pitched : chosen(device, rows, buffer, in);
  copy_rows(in ? device.in : device.out, rows, buffer, in, how);
}

// Least ratio of times for which rows are copied by a kernel. Kernels that copy in both directions reach the rate of
// one, so each direction is measured beside pitched copies of the other one. A kernel takes multiprocessors from the
// transforms beside it, which were slower by 1.7 times (docs/results/dns.md). After the first copy both ends hold the
// same bytes, and all later ones change nothing.
constexpr double least_gain = 1.5;

RowCopies Batches::chosen(OfDevice& device, const HostRows& rows, std::byte* buffer, bool in) {
  if (options_.copies != RowCopies::measured) return options_.copies;
  Stream &stream = in ? device.in : device.out, &other = in ? device.out : device.in;
  if (stream.device().backend == Backend::host) return RowCopies::pitched;
  const auto known = std::find_if(choices_.begin(), choices_.end(),
                                  [&](const Choice& c) { return c.row == rows.extent[0] && c.in == in; });
  if (known != choices_.end()) return known->copies;
  const Way way = way_of(rows, buffer, in), back = way_of(rows, buffer, !in);
  const auto time = [&](auto copies) {
    const Event before(stream.device(), true), after(stream.device(), true);
    copies(stream, way);
    stream.synchronize();
    other.synchronize();
    stream.record(before);
    constexpr int times = 3;
    for (int n = 0; n < times; ++n) {
      copies(stream, way);
      for (int more = 0; more < 2; ++more) copy_pitched(other, back);  // opposite copies load the link meanwhile
    }
    stream.record(after);
    after.synchronize();
    other.synchronize();
    return 1e3 / times * milliseconds(before, after);
  };
  Choice choice{rows.extent[0], volume(rows.extent), in, RowCopies::pitched, time(copy_pitched), time(copy_by_kernel)};
  if (least_gain * choice.kernel_us < choice.pitched_us) choice.copies = RowCopies::kernel;
  choices_.push_back(choice);
  return choice.copies;
}

std::string Batches::describe() const {
  std::ostringstream text;
  text << number_ << " buffers of " << size_ << " bytes";
  if (options_.synchronous) text << ", one batch after the other";
  if (options_.copies != RowCopies::measured) text << "; rows: " << to_string(options_.copies);
  for (const Choice& c : choices_)
    text << "; rows of " << c.row << " bytes " << (c.in ? "in" : "out") << ": " << to_string(c.copies) << " (pitched "
         << c.pitched_us << " us, kernel " << c.kernel_us << " us)";
  return text.str();
}

}  // namespace slipstream
