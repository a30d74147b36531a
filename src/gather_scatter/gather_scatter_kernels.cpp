#include "gather_scatter/gather_scatter_kernels.hpp"
#include "gather_scatter/gather_scatter_rows.hpp"

namespace slipstream {
inline namespace gather_scatter_kernels {

/// Combines the groups of a tile (copies with equal ids) in shared memory. Copies are read and written in the order of
/// their addresses. Each memory sector is therefore loaded and stored once, even if several groups have points in it.
/// All loads of a tile are in flight at once.
template <class T, class Turn>
struct CombineTiles {
  using Tiles = GroupTiles;
  static constexpr int threads = 128;
  static constexpr int resident = sizeof(T) > 8 ? 5 : 7;  // resident thread blocks: with more, 48 registers are too few
  static constexpr std::int64_t cost = Tiles::capacity;
  static constexpr int each = Tiles::capacity / threads;  // number of entries (copies) per thread
  static constexpr std::size_t shared_bytes = Tiles::capacity * sizeof(T) + Tiles::header_words * sizeof(std::uint32_t);
  T* values;
  std::int64_t stride;
  const std::uint32_t *entries, *bases, *headers, *starts;
  int components;
  Op op;
  Turn turn;

  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    const CombineTiles& self = *this;
    T* const held = team.template shared<T>();
    auto* const header = reinterpret_cast<std::uint32_t*>(held + Tiles::capacity);
    const std::uint32_t first = static_cast<std::uint32_t>(team.index()) * Tiles::capacity;
    const std::uint32_t start = load_constant(starts + team.index()), end = load_constant(starts + team.index() + 1);
    [[maybe_unused]] std::uint32_t kept[each];  // entries (copies) of one GPU thread
    for (int c = 0; c < components; ++c) {
      T* const mine = values + c * stride;
      team.each([&](int thread) {
        const auto read_header = [&] {
          for (std::uint32_t w = start + thread; c == 0 && w < end; w += team.threads())
            header[w - start] = load_once(self.headers + w);
        };
        if constexpr (Team::sequential) {
          self.read_all(mine, held, first);
          read_header();
        } else {
          // Loads of point values overlap with loads of the header: the list of the groups of copies to combine.
          T value[each];
          self.ask(mine, value, kept, first, thread, c == 0);
          read_header();
          self.hold(held, value, kept);
        }
      });
      team.each([&](int thread) { self.fold(held, header, thread, team.threads()); });
      team.each([&](int thread) {
        if constexpr (Team::sequential) {
          self.write_all(mine, held, first);
        } else {
          self.write(mine, held, kept, first, thread);
        }
      });
    }
  }

  SLIP_FN static std::uint32_t slot_of(std::uint32_t entry) { return entry >> Tiles::point_bits; }
  SLIP_FN std::uint32_t point_of(std::uint32_t entry, std::uint32_t number) const {
    return load_constant(bases + number / Tiles::chunk) + (entry & Tiles::most_point);
  }

  /// Loads all values of a thread. Each loop does one step for all of them, so that all loads are in flight at once.
  SLIP_FN void ask(const T* mine, T (&value)[each], std::uint32_t (&kept)[each], std::uint32_t first, int thread,
                   bool fetch) const {
    if (fetch)
      for (int n = 0; n < each; ++n) kept[n] = load_once(entries + first + thread + n * threads);
    for (int n = 0; n < each; ++n)
      if (kept[n] != Tiles::none) value[n] = mine[point_of(kept[n], first + thread + n * threads)];
  }
  SLIP_FN static void hold(T* held, const T (&value)[each], const std::uint32_t (&kept)[each]) {
    for (int n = 0; n < each; ++n)
      if (kept[n] != Tiles::none) held[slot_of(kept[n])] = value[n];
  }
  SLIP_FN void write(T* mine, const T* held, const std::uint32_t (&kept)[each], std::uint32_t first, int thread) const {
    T value[each];
    for (int n = 0; n < each; ++n)
      if (kept[n] != Tiles::none) value[n] = held[slot_of(kept[n])];
    for (int n = 0; n < each; ++n)
      if (kept[n] != Tiles::none) mine[point_of(kept[n], first + thread + n * threads)] = value[n];
  }

  SLIP_FN void read_all(const T* mine, T* held, std::uint32_t first) const {
    for (std::uint32_t n = first; n < first + Tiles::capacity; ++n)
      if (entries[n] != Tiles::none) held[slot_of(entries[n])] = mine[point_of(entries[n], n)];
  }
  SLIP_FN void write_all(T* mine, const T* held, std::uint32_t first) const {
    for (std::uint32_t n = first; n < first + Tiles::capacity; ++n)
      if (entries[n] != Tiles::none) mine[point_of(entries[n], n)] = held[slot_of(entries[n])];
  }

  SLIP_FN void fold(T* held, const std::uint32_t* header, int thread, int team) const {
    const std::uint32_t stretches = header[0];
    const std::uint32_t* const marks = header + 1 + stretches;
    std::uint32_t first = 0;
    for (std::uint32_t s = 0; s < stretches; ++s) {
      const std::uint32_t groups = header[1 + s] & 0xffff, last = first + groups * (header[1 + s] >> 16);
      for (std::uint32_t g = thread; g < groups; g += team) {
        GroupSum<T, Turn> all(op, turn, held[first + g]);
        for (std::uint32_t slot = first + g + groups; slot < last; slot += groups)
          all.add(held[slot], (marks[slot / 32] >> (slot % 32) & 1) != 0);
        const T result = all.result();
        for (std::uint32_t slot = first + g; slot < last; slot += groups) held[slot] = result;
      }
      first = last;
    }
  }
};

}  // namespace gather_scatter_kernels

void require_combinable(DType type) {
  with_type(type, [](auto) {});
}

void combine_groups(Stream& stream, const GroupTiles& groups, std::uint32_t block, const Operands& with) {
  with_turn(with.type, with.wire, [&]<class T, class Turn>(T, const Turn& turn) {
    using Tiles = CombineTiles<T, Turn>;
    const Typed<T> points(with.points);
    launch_teams(stream, groups.tiles, stream.device().backend == Backend::host ? 1 : Tiles::threads,
                 Tiles::shared_bytes,
                 Tiles{points.data, points.stride, groups.entries.data(), groups.bases.data(), groups.headers.data(),
                       groups.starts.data(), with.components, with.op, turn});
    move_rows(stream, groups.large.count, with.components, combined<T>(groups.large, with, block, turn), Back{});
  });
}

void combine_in_place(Stream& stream, const ListOnDevice& list, const Operands& with) {
  with_turn(with.type, with.wire, [&]<class T, class Turn>(T, const Turn& turn) {
    move_rows(stream, list.terms.count, with.components, combined<T>(list.terms, with, list.block, turn), Back{},
              with.broken);
  });
}

}  // namespace slipstream
