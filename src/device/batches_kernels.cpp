#include <slipstream/batches.hpp>

#include <algorithm>
#include <sstream>

#include <slipstream/launch.hpp>

#include "device/word16.hpp"

namespace slipstream {
inline namespace batches_kernels {

constexpr std::array<std::pair<RowCopies, const char*>, 5> names{{{RowCopies::measured, "measured"},
                                                                  {RowCopies::single, "single"},
                                                                  {RowCopies::pitched, "pitched"},
                                                                  {RowCopies::kernel, "kernel"},
                                                                  {RowCopies::mixed, "mixed"}}};

/// So many blocks fill a link to the host (Appelhans, GTC 2018): the rest of the device goes on with its work.
constexpr int teams = 16, threads = 512;

/// Each team takes every 16th row, its threads neighbouring words.
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

struct Ends {
  std::byte *host, *buffer;
  Pitch packed;
};

Ends ends_of(const HostRows& rows, std::byte* buffer) {
  const auto row = static_cast<std::size_t>(rows.extent[0]);
  return {static_cast<std::byte*>(rows.host), buffer + rows.at, {row, row * static_cast<std::size_t>(rows.extent[1])}};
}

template <class Word>
void by_kernel(Stream& stream, const HostRows& rows, std::byte* buffer, bool in) {
  const auto [host, packed, pitch] = ends_of(rows, buffer);
  const auto bytes = [](std::size_t n) { return static_cast<std::int64_t>(n); };
  CopyRows<Word> copy{host,
                      packed,
                      bytes(rows.pitch.row),
                      bytes(rows.pitch.plane),
                      bytes(pitch.row),
                      bytes(pitch.plane),
                      rows.extent[0] / bytes(sizeof(Word)),
                      rows.extent[1],
                      rows.extent[1] * rows.extent[2]};
  if (!in) {
    std::swap(copy.from_row, copy.to_row);
    std::swap(copy.from_plane, copy.to_plane);
    copy.from = packed;
    copy.to = host;
  }
  launch_teams(stream, teams, threads, 0, copy);
}

/// The longest word of which all rows on both sides are multiples.
void copy_by_kernel(Stream& stream, const HostRows& rows, std::byte* buffer, bool in) {
  const auto [host, packed, pitch] = ends_of(rows, buffer);
  const std::uintptr_t all = reinterpret_cast<std::uintptr_t>(host) | reinterpret_cast<std::uintptr_t>(packed) |
                             rows.pitch.row | rows.pitch.plane | pitch.row;
  if (all % 16 == 0) return by_kernel<Word16>(stream, rows, buffer, in);
  if (all % 4 == 0) return by_kernel<std::uint32_t>(stream, rows, buffer, in);
  by_kernel<std::uint8_t>(stream, rows, buffer, in);
}

void copy_pitched(Stream& stream, const HostRows& rows, std::byte* buffer, bool in) {
  const auto [host, packed, pitch] = ends_of(rows, buffer);
  if (in) return copy_box(stream, packed, pitch, host, rows.pitch, rows.extent);
  copy_box(stream, host, rows.pitch, packed, pitch, rows.extent);
}

void copy_single(Stream& stream, const HostRows& rows, std::byte* buffer, bool in) {
  const auto [host, packed, pitch] = ends_of(rows, buffer);
  for (std::int64_t k = 0; k < rows.extent[2]; ++k)
    for (std::int64_t j = 0; j < rows.extent[1]; ++j) {
      std::byte* const there =
          host + j * static_cast<std::int64_t>(rows.pitch.row) + k * static_cast<std::int64_t>(rows.pitch.plane);
      std::byte* const here = packed + (k * rows.extent[1] + j) * rows.extent[0];
      copy(stream, in ? here : there, in ? there : here, static_cast<std::size_t>(rows.extent[0]));
    }
}

bool without_gaps(const HostRows& rows) {
  const auto row = static_cast<std::size_t>(rows.extent[0]), high = static_cast<std::size_t>(rows.extent[1]);
  return (rows.extent[1] == 1 || rows.pitch.row == row) && (rows.extent[2] == 1 || rows.pitch.plane == row * high);
}

}  // namespace batches_kernels

std::string to_string(RowCopies copies) {
  for (const auto& [kind, name] : names)
    if (kind == copies) return name;
  return "";
}

RowCopies row_copies_from_string(const std::string& name) {
  for (const auto& [kind, known] : names)
    if (name == known) return kind;
  throw Error(ErrorCode::invalid_argument,
              "no copies of rows are named '" + name + "': choose measured, single, pitched, kernel or mixed",
              {{"option", "host_copies"}, {"given", name}});
}

Batches::Batches(Device device, std::int64_t bytes_of_buffer, BatchOptions options)
    : device_(device),
      size_(bytes_of_buffer),
      options_(options),
      in_(device),
      out_(device),
      start_(device),
      arrived_{Event(device), Event(device), Event(device), Event(device)},
      worked_{Event(device), Event(device), Event(device), Event(device)},
      left_{Event(device), Event(device), Event(device), Event(device)} {
  for (Buffer<std::byte>& buffer : memory_) buffer = Buffer<std::byte>(device, static_cast<std::size_t>(size_));
}

// Buffer n is read by batch n, and written by the work of batch n + 1. So the third batch before this one left from it.
void Batches::run(Stream& stream, std::int64_t count, const Rows& rows, const Work& work) {
  stream.record(start_);
  in_.wait(start_);
  out_.wait(start_);
  const auto place = [](std::int64_t batch) { return static_cast<std::size_t>((batch + buffers) % buffers); };
  std::vector<HostBatch> known;
  const auto bring = [&](std::int64_t batch) {
    known.push_back(rows(batch));
    const std::int64_t behind = options_.synchronous ? 1 : 3;
    if (batch >= behind) in_.wait(left_[place(batch - behind)]);
    for (const HostRows& part : known.back().in) move(in_, part, memory_[place(batch)].data(), true);
    in_.record(arrived_[place(batch)]);
  };
  if (count > 0) bring(0);
  for (std::int64_t batch = 0; batch < count; ++batch) {
    std::byte* const to = memory_[place(batch - 1)].data();
    if (batch + 1 < count && !options_.synchronous) bring(batch + 1);
    stream.wait(arrived_[place(batch)]);
    work(stream, batch, memory_[place(batch)].data(), to);
    stream.record(worked_[place(batch)]);
    out_.wait(worked_[place(batch)]);
    for (const HostRows& part : known.at(static_cast<std::size_t>(batch)).out) move(out_, part, to, false);
    out_.record(left_[place(batch)]);
    if (batch + 1 < count && options_.synchronous) bring(batch + 1);
  }
  if (count > 0) stream.wait(left_[place(count - 1)]);
}

void Batches::move(Stream& stream, const HostRows& rows, std::byte* buffer, bool in) {
  const std::int64_t bytes = volume(rows.extent);
  if (bytes <= 0) return;
  require(rows.at >= 0 && rows.at + bytes <= size_, ErrorCode::invalid_argument,
          "rows of " + std::to_string(bytes) + " bytes do not fit a batch of " + std::to_string(size_),
          {{"bytes", rows.at + bytes}, {"limit", size_}});
  moved_ += bytes;
  if (without_gaps(rows)) {
    const auto [host, packed, pitch] = ends_of(rows, buffer);
    return copy(stream, in ? packed : host, in ? host : packed, static_cast<std::size_t>(bytes));
  }
  switch (chosen(rows, buffer, in)) {
    case RowCopies::single:
      return copy_single(stream, rows, buffer, in);
    case RowCopies::kernel:
      return copy_by_kernel(stream, rows, buffer, in);
    default:
      return copy_pitched(stream, rows, buffer, in);
  }
}

// Measured rows are copied several times. That changes nothing: a way in fills the buffer alone, and a way back repeats
// itself.
RowCopies Batches::chosen(const HostRows& rows, std::byte* buffer, bool in) {
  if (options_.copies == RowCopies::mixed) return in ? RowCopies::pitched : RowCopies::kernel;
  if (options_.copies != RowCopies::measured) return options_.copies;
  if (device_.backend == Backend::host) return RowCopies::pitched;
  const auto known = std::find_if(choices_.begin(), choices_.end(),
                                  [&](const Choice& c) { return c.row == rows.extent[0] && c.in == in; });
  if (known != choices_.end()) return known->copies;
  Stream& stream = in ? in_ : out_;
  const auto time = [&](auto copies) {
    const Event before(device_, true), after(device_, true);
    copies(stream, rows, buffer, in);
    stream.record(before);
    for (int n = 0; n < 3; ++n) copies(stream, rows, buffer, in);
    stream.record(after);
    after.synchronize();
    return 1e3 / 3 * milliseconds(before, after);
  };
  Choice choice{rows.extent[0], volume(rows.extent), in, RowCopies::pitched, time(copy_pitched), time(copy_by_kernel)};
  if (choice.kernel_us < choice.pitched_us) choice.copies = RowCopies::kernel;
  choices_.push_back(choice);
  return choice.copies;
}

std::string Batches::describe() const {
  std::ostringstream text;
  text << buffers << " buffers of " << size_ << " bytes";
  if (options_.synchronous) text << ", one batch after the other";
  if (options_.copies != RowCopies::measured) text << "; rows: " << to_string(options_.copies);
  for (const Choice& c : choices_)
    text << "; rows of " << c.row << " bytes " << (c.in ? "in" : "out") << ": " << to_string(c.copies) << " (pitched "
         << c.pitched_us << " us, kernel " << c.kernel_us << " us)";
  return text.str();
}

}  // namespace slipstream
