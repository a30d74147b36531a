#pragma once
// Device functions by which the threads of a thread block move the words of a copy: boxes, thin rows, lists,
// latency-optimised packets and combined values.
#include <cstdint>

#include <slipstream/signal.hpp>

#include "device/word16.hpp"
#include "mover/combine.hpp"
#include "mover/program.hpp"
#include "mover/tiles.hpp"

namespace slipstream {

/// Ends the waits of a thread block at the timeout, or at once if another wait has timed out.
struct Watch {
  const Pulse& pulse;
  std::uint64_t now;
  int peer;  ///< number of the device for which the thread block waits

  // The failure flag lies in device memory, because many thread blocks poll it and host memory is slow to reach.
  SLIP_FN bool broken() const { return load_acquire(pulse.broken) != 0; }
  /// Records the device that was waited for, and makes the exchange fail.
  SLIP_FN void give_up() const {
    if (broken()) return;
    pulse.failure->sequence = now;
    pulse.failure->peer = peer;
    store_release(&pulse.failure->set, 1);
    store_release(pulse.broken, 1);
  }
  /// Records that a neighbour has ended its exchange, unless a wait of this exchange timed out.
  SLIP_FN void tell_of_end() const {
    if (!broken() || load_acquire(&pulse.failure->set) != 0) return;
    pulse.failure->sequence = now;
    pulse.failure->peer = -1;
    store_release(&pulse.failure->set, 1);
  }
  /// Records that a value was too large for its coding.
  SLIP_FN void tell_of_overflow(std::int32_t item) const {
    Signal* const told = pulse.broken + 1;
    if (load_acquire(told) != 0) return;
    store_release(&pulse.failure->overflow, 1 + static_cast<std::uint64_t>(item));
    store_release(told, 1);
  }
};

/// The conversion of words that leaves them unchanged.
struct AsTheyAre {
  template <class Word>
  SLIP_FN const Word& operator()(const Word& word) const {
    return word;
  }
};

/// Offset in bytes from the first of the receive buffers used in turn to that of this exchange.
SLIP_FN std::int64_t ring_offset(const Ring& ring, std::uint64_t now) {
  if (ring.bytes == 0) return 0;
  // Avoids the division in the common case: each chunk of the message has one receive buffer, or two used in turn.
  if (ring.depth == ring.chunks) return ring.chunk * ring.bytes;
  if (ring.depth == 2 * ring.chunks) return (ring.chunk + (now & 1 ? 0 : ring.chunks)) * ring.bytes;
  const std::uint64_t chunk = (now - 1) * static_cast<std::uint64_t>(ring.chunks) + ring.chunk;
  return static_cast<std::int64_t>(chunk % static_cast<std::uint64_t>(ring.depth)) * ring.bytes;
}

/// The words (units of loads and stores), or packets of words, of a copy that one thread block moves at a time.
struct Part {
  std::int64_t first;
  std::uint32_t x, row, count;
};

/// Maps word numbers of a box to cells. Uses few registers: the more threads a multiprocessor holds, the more loads are
/// in flight.
struct Rows {
  Divisor width, height;
  std::uint32_t turns, x, row;

  SLIP_FN Rows(const Work& w, const Part& part)
      : width(w.width), height(w.height), turns(w.form == Form::turns ? 1 : 0), x(part.x), row(part.row) {}

  struct Cell {
    std::uint32_t x, y, z, box;
  };
  SLIP_FN Cell cell(std::uint32_t n) const {
    const std::uint32_t flat = x + n, rows = width.of(flat), all = row + rows, all_y = all >> turns;
    const std::uint32_t z = height.of(all_y);
    return {flat - rows * width.by, all_y - z * height.by, z, all & turns};
  }
};

/// Strides of a source or target, copied to registers. The compiler would reload the table after each store, since
/// pointers may alias.
struct Strides {
  std::int64_t x, y, z, fold;
  SLIP_FN explicit Strides(const End& end) : x(end.stride[0]), y(end.stride[1]), z(end.stride[2]), fold(end.fold) {}
  SLIP_FN std::int64_t at(const Rows::Cell& c) const { return c.x * x + c.y * y + c.z * z + c.box * fold; }
};

/// Index of a thread among the threads that share a copy, and their number.
struct Share {
  std::uint32_t thread, threads;
};

/// Copies with one thread, in plain loops along rows.
template <class From, class To, class Turn>
SLIP_FN void copy_rows(const Rows& rows, const Strides& source, const Strides& target, std::uint32_t count,
                       const From* from, To* to, const Turn& turn) {
  std::uint32_t room = rows.width.by - rows.x;
  for (std::uint32_t n = 0; n < count;) {
    const std::uint32_t run = room < count - n ? room : count - n;
    const Rows::Cell cell = rows.cell(n);
    const From* in = from + source.at(cell);
    To* out = to + target.at(cell);
    if (source.x == 1 && target.x == 1) {
      for (std::uint32_t i = 0; i < run; ++i) out[i] = turn(in[i]);
    } else {
      for (std::uint32_t i = 0; i < run; ++i) out[i * target.x] = turn(in[i * source.x]);
    }
    n += run;
    room = rows.width.by;
  }
}

/// Number of loads that a thread has in flight before its first store.
template <class Word>
constexpr std::uint32_t flight_of = sizeof(Word) > 8 ? 1 : 2;

/// Copies the words of a box, or of two boxes at both ends of the same array rows. Addresses are recomputed for the
/// stores to save registers. For two boxes, half of a thread's loads in flight are from either box.
template <class From, class To, class Turn>
SLIP_FN void copy_box(const Rows& rows, const Strides& source, const Strides& target, bool pair, std::uint32_t count,
                      const From* from, To* to, Share share, const Turn& turn) {
  constexpr std::uint32_t flight = flight_of<From>;
  const std::uint32_t shift = flight > 1 && pair ? 1 : 0;
  for (std::uint32_t n = share.thread; n < count; n += (flight >> shift) * share.threads) {
    From values[flight];
    for (std::uint32_t f = 0; f < flight; ++f)
      if (const std::uint32_t m = n + (f >> shift) * share.threads; m < count)
        values[f] = from[source.at(rows.cell(m)) + (f & shift ? source.fold : 0)];
    for (std::uint32_t f = 0; f < flight; ++f)
      if (const std::uint32_t m = n + (f >> shift) * share.threads; m < count)
        to[target.at(rows.cell(m)) + (f & shift ? target.fold : 0)] = turn(values[f]);
  }
}

/// Maps memory words at the end of an array row and at the start of the next row to words of two packed boxes.
struct Seam {
  Rows rows;
  std::uint32_t thin;
  std::int64_t fold;
  bool fills_gaps;

  SLIP_FN Seam(const Work& w, const Part& part)
      : rows(w, part), thin(w.thin), fold(w.source.fold), fills_gaps(w.fills_gaps) {}

  SLIP_FN bool starts_row(const Rows::Cell& c) const { return c.x + thin >= rows.width.by && c.y + 1 < rows.height.by; }
  SLIP_FN bool ends_row(const Rows::Cell& c) const { return c.x < thin && c.y > 0; }
  SLIP_FN bool has(const Rows::Cell& c) const { return starts_row(c) || ends_row(c); }
  /// Whether a word between the ends of two array rows is stored: it is part of a copied box, or padding in between.
  SLIP_FN bool stores(const Rows::Cell& c) const {
    return has(c) || (fills_gaps && c.y > 0 && c.y + 1 < rows.height.by);
  }
  /// Index in the packed buffer of the value that a memory word at the end or the start of an array row gets.
  SLIP_FN std::int64_t source(const Rows::Cell& c) const {
    const std::int64_t row = std::int64_t{c.z} * (rows.height.by - 1) + c.y;
    return c.x < thin ? (row - 1) * thin + c.x + fold : row * thin + (c.x + thin - rows.width.by);
  }
};

/// Copies two packed boxes to both ends of an array's rows. Adjacent threads store adjacent words, even across rows.
template <class From, class To, class Turn>
SLIP_FN void copy_seam(const Seam& seam, const Strides& target, std::uint32_t count, const From* from, To* to,
                       Share share, const Turn& turn) {
  constexpr std::uint32_t flight = flight_of<From>;
  for (std::uint32_t n = share.thread; n < count; n += flight * share.threads) {
    From values[flight] = {};
    for (std::uint32_t f = 0; f < flight; ++f)
      if (const std::uint32_t m = n + f * share.threads; m < count)
        if (const Rows::Cell cell = seam.rows.cell(m); seam.has(cell)) values[f] = from[seam.source(cell)];
    for (std::uint32_t f = 0; f < flight; ++f)
      if (const std::uint32_t m = n + f * share.threads; m < count)
        if (const Rows::Cell cell = seam.rows.cell(m); seam.stores(cell)) to[target.at(cell)] = turn(values[f]);
  }
}

/// Copies values whose element indices are listed for source, target or both; an end without a list is a box.
template <class From, class To, class Turn>
SLIP_FN void copy_list(const Work& w, const Part& part, const From* from, To* to, Share share, const Turn& turn) {
  const Rows rows(w, part);
  const Strides source(w.source), target(w.target);
  const std::int64_t *source_ids = w.source_ids, *target_ids = w.target_ids;
  for (std::uint32_t n = share.thread; n < part.count; n += share.threads) {
    const std::int64_t i = part.first + n;
    const Rows::Cell cell = rows.cell(n);
    to[target_ids ? target_ids[i] : target.at(cell)] = turn(from[source_ids ? source_ids[i] : source.at(cell)]);
  }
}

/// Square of a transpose that fits in shared memory: its sides, and the position of its first word in the box.
struct Square {
  std::uint32_t width, height;
  std::int64_t x, y, z;

  SLIP_FN Square(const Work& w, const Part& part) : x(part.x), y(part.row), z(part.first) {
    const std::uint32_t across = w.width.by - part.x, down = w.height.by - part.row;
    width = across < square_along_x(w.word) ? across : square_along_x(w.word);
    height = down < square_along_y(w.word) ? down : square_along_y(w.word);
  }
  SLIP_FN std::int64_t at(const Strides& end) const { return x * end.x + y * end.y + z * end.z; }
};

/// Number of loads that a thread has in flight while it reads a square of a box into shared memory, to transpose it.
template <class Word>
constexpr std::uint32_t square_flight = sizeof(Word) > 8 ? 2 : 4;

/// First phase of a transpose: reads a square from the source into shared memory, row by row.
template <class Word>
SLIP_FN void fill_square(const Work& w, const Part& part, const Word* from, Word* square, Share share) {
  constexpr std::uint32_t flight = square_flight<Word>, along = square_along_x(sizeof(Word)), pitch = along + 1;
  const Square s(w, part);
  const Strides source(w.source);
  from += s.at(source);
  for (std::uint32_t n = share.thread; n < along * s.height; n += flight * share.threads) {
    Word values[flight];
    for (std::uint32_t f = 0; f < flight; ++f) {
      const std::uint32_t m = n + f * share.threads, x = m % along, y = m / along;
      if (x < s.width && y < s.height) values[f] = from[x + y * source.y];
    }
    for (std::uint32_t f = 0; f < flight; ++f) {
      const std::uint32_t m = n + f * share.threads, x = m % along, y = m / along;
      if (x < s.width && y < s.height) square[y * pitch + x] = values[f];
    }
  }
}

/// Second phase of a transpose: writes a square from shared memory to the target, column by column.
template <class From, class To, class Turn>
SLIP_FN void empty_square(const Work& w, const Part& part, const From* square, To* to, Share share, const Turn& turn) {
  constexpr std::uint32_t along = square_along_y(sizeof(From)), pitch = square_along_x(sizeof(From)) + 1;
  const Square s(w, part);
  const Strides target(w.target);
  to += s.at(target);
  for (std::uint32_t n = share.thread; n < along * s.width; n += share.threads) {
    const std::uint32_t y = n % along, x = n / along;
    if (y < s.height) to[x * target.x + y] = turn(square[y * pitch + x]);
  }
}

/// Transposes a square of a matrix by a single thread, without shared memory: the square fits in the L1 cache.
template <class From, class To, class Turn>
SLIP_FN void copy_square(const Work& w, const Part& part, const From* from, To* to, const Turn& turn) {
  const Square s(w, part);
  const Strides source(w.source), target(w.target);
  from += s.at(source);
  to += s.at(target);
  for (std::uint32_t x = 0; x < s.width; ++x)
    for (std::uint32_t y = 0; y < s.height; ++y) to[x * target.x + y] = turn(from[x + y * source.y]);
}

/// Address of the first word of a source or target.
SLIP_FN std::byte* base_of(const End& end, std::byte* const* arrays) {
  return end.array < 0 ? reinterpret_cast<std::byte*>(end.base) : arrays[end.array] + end.base;
}

/// Addresses of the first words of a copy's source and target in this exchange.
template <class From, class To = From>
struct Ends {
  const From* from;
  To* to;
  SLIP_FN Ends(const Work& w, const Watch& watch)
      : from(reinterpret_cast<const From*>(base_of(w.source, watch.pulse.arrays) +
                                           ring_offset(w.source_ring, watch.now))),
        to(reinterpret_cast<To*>(base_of(w.target, watch.pulse.arrays) + ring_offset(w.target_ring, watch.now))) {}
};

/// Copies one box, by rows on the host and by single words on a GPU.
template <bool sequential, class From, class To, class Turn>
SLIP_FN void copy_plain(const Work& w, const Part& part, const Watch& watch, Share share, const Turn& turn) {
  const Ends<From, To> ends(w, watch);
  const Strides source(w.source), target(w.target);
  if constexpr (sequential) {
    copy_rows(Rows(w, part), source, target, part.count, ends.from, ends.to, turn);
  } else {
    copy_box(Rows(w, part), source, target, false, part.count, ends.from, ends.to, share, turn);
  }
}

template <bool sequential, class From, class To, class Turn>
SLIP_FN void copy_words(const Work& w, const Part& part, const Watch& watch, Share share, const Turn& turn) {
  const Ends<From, To> ends(w, watch);
  const From* const from = ends.from;
  To* const to = ends.to;
  if (w.form == Form::list) return copy_list(w, part, from, to, share, turn);
  if constexpr (sequential) {
    if (w.form == Form::transpose) return copy_square(w, part, from, to, turn);
  }
  if constexpr (seam_words(sizeof(From))) {
    if (w.form == Form::seam) return copy_seam(Seam(w, part), Strides(w.target), part.count, from, to, share, turn);
  }
  const Strides source(w.source), target(w.target);
  if constexpr (sequential) {
    copy_rows(Rows(w, part), source, target, part.count, from, to, turn);
    if (w.form == Form::pair)
      copy_rows(Rows(w, part), source, target, part.count, from + source.fold, to + target.fold, turn);
  } else {
    copy_box(Rows(w, part), source, target, w.form == Form::pair, part.count, from, to, share, turn);
  }
}

/// Sequence number in a packet: the lower half of the exchange's number. Two receive buffers take turns, so it only has
/// to differ from the number that the exchange before the last left in the same buffer.
SLIP_FN std::uint32_t packet_number(std::uint64_t now) { return static_cast<std::uint32_t>(now); }

/// Index of a thread when packets are moved. A GPU thread takes one part of a packet, a host thread takes all.
template <bool sequential>
SLIP_FN Share by_packets(Share share) {
  if constexpr (sequential) return share;
  return {share.thread / Packet::parts, share.threads / Packet::parts};
}

/// Calls f(part number) for the parts of a packet that this thread holds.
template <bool sequential, class F>
SLIP_FN void each_lane(Share share, F f) {
  if constexpr (sequential) {
    for (int lane = 0; lane < Packet::parts; ++lane) f(lane);
  } else {
    f(static_cast<int>(share.thread % Packet::parts));
  }
}

/// Maps the words of a packet to those of a box. Adjacent threads hold adjacent words.
struct PacketWords {
  Rows rows;
  Strides place;
  std::uint32_t first, words;

  SLIP_FN PacketWords(const Work& w, const End& end, std::uint32_t first_packet)
      : rows(w, Part{0, 0, 0, 0}),
        place(end),
        first(first_packet * Packet::words),
        words(static_cast<std::uint32_t>(w.words)) {}

  /// Calls f(j, offset) for word j of the part of a packet that one thread holds. `offset`: its place in an array.
  template <class F>
  SLIP_FN void each(std::uint32_t packet, int lane, F f) const {
    for (int j = 0; j < Packet::part_words; ++j) {
      const int in_packet = Packet::parts * j + lane;
      const std::uint32_t n = first + packet * Packet::words + static_cast<std::uint32_t>(in_packet);
      if (in_packet < Packet::words && n < words) f(j, place.at(rows.cell(n)));
    }
  }
};

/// Number of packets that a thread has in flight.
constexpr std::uint32_t packets_in_flight = 2;

template <bool sequential>
SLIP_FN void words_to_packets(const Work& w, const Part& part, const Watch& watch, Share share) {
  const std::uint64_t now = watch.now;
  const Ends<std::uint32_t> ends(w, watch);
  const std::uint32_t* const from = ends.from;
  auto* to = reinterpret_cast<Packet*>(ends.to) + part.first;
  const PacketWords held(w, w.source, static_cast<std::uint32_t>(part.first));
  const Share mine = by_packets<sequential>(share);
  for (std::uint32_t packet = mine.thread; packet < part.count; packet += packets_in_flight * mine.threads)
    each_lane<sequential>(share, [&](int lane) {
      std::uint32_t values[packets_in_flight][Packet::part_words];
      for (std::uint32_t f = 0; f < packets_in_flight; ++f) {
        for (auto& value : values[f]) value = packet_number(now);
        const std::uint32_t l = packet + f * mine.threads;
        if (l < part.count) held.each(l, lane, [&](int j, std::int64_t at) { values[f][j] = from[at]; });
      }
      for (std::uint32_t f = 0; f < packets_in_flight; ++f)
        if (const std::uint32_t l = packet + f * mine.threads; l < part.count) store_part(to + l, lane, values[f]);
    });
}

/// Reloads a part of a packet until the packet has this exchange's number. Returns false at the timeout.
SLIP_FN bool await_part(PacketPart& part, const Packet* packet, int lane, const Watch& watch) {
  const std::uint32_t number = packet_number(watch.now);
  constexpr unsigned seldom = 256;
  std::uint64_t start = 0;
  for (unsigned round = 0; number_of(part) != number; ++round) {
    if (start == 0) start = clock_ns();
    if (round % seldom == 1 && any_of_packet(clock_ns() - start > watch.pulse.limit_ns || watch.broken())) {
      watch.give_up();
      return false;
    }
    spin(round);
    part = load_part(packet, lane);
  }
  return true;
}

template <bool sequential>
SLIP_FN void words_from_packets(const Work& w, const Part& part, const Watch& watch, Share share) {
  const Ends<std::uint32_t> ends(w, watch);
  const auto* from = reinterpret_cast<const Packet*>(ends.from) + part.first;
  std::uint32_t* const to = ends.to;
  const PacketWords held(w, w.target, static_cast<std::uint32_t>(part.first));
  const Share mine = by_packets<sequential>(share);
  for (std::uint32_t packet = mine.thread; packet < part.count; packet += packets_in_flight * mine.threads)
    each_lane<sequential>(share, [&](int lane) {
      PacketPart parts[packets_in_flight];
      for (std::uint32_t f = 0; f < packets_in_flight; ++f)
        if (const std::uint32_t l = packet + f * mine.threads; l < part.count) parts[f] = load_part(from + l, lane);
      for (std::uint32_t f = 0; f < packets_in_flight; ++f) {
        const std::uint32_t l = packet + f * mine.threads;
        if (l >= part.count || !await_part(parts[f], from + l, lane, watch)) continue;
        held.each(l, lane, [&](int j, std::int64_t at) { to[at] = parts[f].value(j); });
      }
    });
}

/// Combines the values of all messages with the target's own values in a fixed order, such as by a sum.
template <class T, class From, class Turn>
SLIP_FN void combine_words(const Work& w, const Part& part, const Watch& watch, Share share, const Turn& turn) {
  const Rows rows(w, part);
  const Strides place(w.target);
  auto* target = reinterpret_cast<T*>(base_of(w.target, watch.pulse.arrays));
  for (std::uint32_t n = share.thread; n < part.count; n += share.threads) {
    const Rows::Cell cell = rows.cell(n);
    const std::int64_t i = part.first + n;
    T& mine = target[w.target_ids ? w.target_ids[i] : place.at(cell)];
    T sum = mine;
    for (int c = 0; c < w.contribution_count; ++c) {
      const Contribution& from = w.contributions[c];
      const std::int64_t at =
          from.ids ? from.ids[i] : cell.x * from.stride[0] + cell.y * from.stride[1] + cell.z * from.stride[2];
      const T value = turn(reinterpret_cast<const From*>(from.base)[at]);
      if (c == 0 && w.own > 0) {
        sum = value;
      } else {
        sum = combine(w.op, sum, value);
      }
      if (c + 1 == w.own) sum = combine(w.op, sum, mine);
    }
    mine = sum;
  }
}

template <class T>
SLIP_FN void combine_words(const Work& w, const Part& part, const Watch& watch, Share share) {
  combine_words<T, T>(w, part, watch, share, AsTheyAre{});
}

SLIP_FN void combine_work(const Work& w, const Part& part, const Watch& watch, Share share) {
  switch (w.type) {
    case DType::u8:
      return combine_words<std::uint8_t>(w, part, watch, share);
    case DType::i32:
      return combine_words<std::int32_t>(w, part, watch, share);
    case DType::i64:
      return combine_words<std::int64_t>(w, part, watch, share);
    case DType::f32:
      return combine_words<float>(w, part, watch, share);
    case DType::f64:
      return combine_words<double>(w, part, watch, share);
    case DType::c64:
      return combine_words<Complex<float>>(w, part, watch, share);
    case DType::c128:
      return combine_words<Complex<double>>(w, part, watch, share);
    case DType::f16:
      return;  // not reached: planning refuses sums and other combinations of 16-bit floats
  }
}

/// Calls f with a null pointer whose type is a word of the given size.
template <class F>
SLIP_FN void with_word(int size, F f) {
  switch (size) {
    case 1:
      return f(static_cast<std::uint8_t*>(nullptr));
    case 2:
      return f(static_cast<std::uint16_t*>(nullptr));
    case 4:
      return f(static_cast<std::uint32_t*>(nullptr));
    case 8:
      return f(static_cast<std::uint64_t*>(nullptr));
    case 16:
      return f(static_cast<Word16*>(nullptr));
  }
}

/// First phase of a matrix transpose by a thread block: loads a square of words into shared memory.
SLIP_FN void run_first_half(const Work& w, const Part& part, const Watch& watch, void* square, Share share) {
  with_word(w.word, [&]<class Word>(Word*) {
    fill_square(w, part, Ends<Word>(w, watch).from, static_cast<Word*>(square), share);
  });
}

/// Second phase of a transposing copy: writes the square of values in shared memory to the target, along its rows.
SLIP_FN void run_second_half(const Work& w, const Part& part, const Watch& watch, const void* square, Share share) {
  with_word(w.word, [&]<class Word>(Word*) {
    empty_square(w, part, static_cast<const Word*>(square), Ends<Word>(w, watch).to, share, AsTheyAre{});
  });
}

/// Moves a part of a copy without conversion. `watch` ends waits for packets that do not arrive.
template <bool sequential, bool combines>
SLIP_FN void run_work(const Work& w, const Part& part, const Watch& watch, Share share) {
  if constexpr (combines) {
    if (w.op != Op::copy) return combine_work(w, part, watch, share);
  }
  if (w.form == Form::to_packets) return words_to_packets<sequential>(w, part, watch, share);
  if (w.form == Form::from_packets) return words_from_packets<sequential>(w, part, watch, share);
  with_word(w.word, [&]<class Word>(Word*) { copy_words<sequential, Word, Word>(w, part, watch, share, AsTheyAre{}); });
}

}  // namespace slipstream
