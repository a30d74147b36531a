#include "exchange/group_tiles.hpp"

#include "exchange/in_parallel.hpp"

namespace slipstream {
namespace {

/// Makes tiles one after the other.
class Tiler {
 public:
  Tiler(const Lists<std::uint32_t>& rows, std::int64_t block) : rows_(rows), block_(points_of_block(block)) {}

  GroupTiles tiled(std::size_t first, std::size_t last) {
    std::size_t room = GroupTiles::capacity;
    for (std::size_t row = first; row < last;) {
      std::size_t end = row, held = 0;
      while (end < last && held + copies(end) <= room) held += copies(end++);
      if (end == row) held = copies(end++);
      if (held > GroupTiles::capacity) {
        add_large(row++);
        continue;
      }
      list_copies(row, end);
      const std::size_t wanted = list_entries();
      if (wanted <= GroupTiles::capacity) {
        add_tile();
        row = end;
        room = GroupTiles::capacity;
      } else if (end - row == 1) {
        add_large(row++);
      } else {
        // Points so far apart that chunks stay half empty: fewer of them.
        room = std::min(held - 1, held * GroupTiles::capacity / wanted);
      }
    }
    return std::move(made_);
  }

 private:
  std::uint32_t copies(std::size_t row) const { return rows_.starts[row + 1] - rows_.starts[row]; }
  const std::uint32_t* points_of(std::size_t row) const { return rows_.items.data() + rows_.starts[row]; }

  void add_large(std::size_t row) {
    made_.large.items.insert(made_.large.items.end(), points_of(row), points_of(row) + copies(row));
    made_.large.close();
  }

  /// Slots of the copies of some rows, by stretches.
  void list_copies(std::size_t row, std::size_t end) {
    groups_.clear();
    for (; row < end; ++row) groups_.push_back(row);
    std::stable_sort(groups_.begin(), groups_.end(),
                     [&](std::size_t a, std::size_t b) { return copies(a) < copies(b); });
    copies_.clear();
    stretches_.clear();
    marks_.clear();
    for (auto from = groups_.begin(); from != groups_.end();) {
      const std::uint32_t size = copies(*from);
      const auto to = std::find_if(from, groups_.end(), [&](std::size_t group) { return copies(group) != size; });
      stretches_.push_back(GroupTiles::stretch(static_cast<std::uint32_t>(to - from), size));
      for (std::uint32_t c = 0; c < size; ++c)
        for (auto group = from; group != to; ++group) add_copy(points_of(*group), c);
      from = to;
    }
    std::sort(copies_.begin(), copies_.end(), [](const Copy& a, const Copy& b) { return a.point < b.point; });
  }

  void add_copy(const std::uint32_t* points, std::uint32_t copy) {
    const auto slot = static_cast<std::uint32_t>(copies_.size());
    if (slot % 32 == 0) marks_.push_back(0);
    if (copy > 0 && points[copy] / block_ != points[copy - 1] / block_)
      marks_.back() |= std::uint32_t{1} << (slot % 32);
    copies_.push_back({points[copy], slot});
  }

  /// How many entries the copies take.
  std::size_t list_entries() {
    constexpr std::size_t chunk = GroupTiles::chunk;
    entries_.clear();
    bases_.clear();
    for (const Copy& copy : copies_) {
      // The highest point of the highest slot would be no entry.
      if (entries_.size() % chunk != 0 && copy.point - bases_.back() >= GroupTiles::most_point)
        entries_.resize((entries_.size() + chunk - 1) / chunk * chunk, GroupTiles::none);
      if (entries_.size() % chunk == 0) bases_.push_back(copy.point);
      entries_.push_back(GroupTiles::entry(copy.slot, copy.point - bases_.back()));
    }
    return entries_.size();
  }

  void add_tile() {
    entries_.resize(GroupTiles::capacity, GroupTiles::none);
    bases_.resize(GroupTiles::capacity / GroupTiles::chunk, 0);
    made_.entries.insert(made_.entries.end(), entries_.begin(), entries_.end());
    made_.bases.insert(made_.bases.end(), bases_.begin(), bases_.end());
    made_.headers.push_back(static_cast<std::uint32_t>(stretches_.size()));
    made_.headers.insert(made_.headers.end(), stretches_.begin(), stretches_.end());
    made_.headers.insert(made_.headers.end(), marks_.begin(), marks_.end());
    made_.starts.push_back(static_cast<std::uint32_t>(made_.headers.size()));
  }

  struct Copy {
    std::uint32_t point, slot;
  };
  const Lists<std::uint32_t>& rows_;
  const std::uint32_t block_;
  // Of the tile that is made:
  std::vector<std::size_t> groups_;
  std::vector<Copy> copies_;
  std::vector<std::uint32_t> stretches_, marks_, entries_, bases_;
  GroupTiles made_;
};

template <class T>
void add(std::vector<T>& all, const std::vector<T>& part) {
  all.insert(all.end(), part.begin(), part.end());
}

/// Behind what is there already.
void append(GroupTiles& all, const GroupTiles& part) {
  const std::uint32_t headers = counted(all.headers.size()), large = counted(all.large.items.size());
  for (std::size_t t = 1; t < part.starts.size(); ++t) all.starts.push_back(headers + part.starts[t]);
  add(all.entries, part.entries);
  add(all.bases, part.bases);
  add(all.headers, part.headers);
  for (std::size_t r = 1; r < part.large.starts.size(); ++r) all.large.starts.push_back(large + part.large.starts[r]);
  add(all.large.items, part.large.items);
}

}  // namespace

GroupTiles group_tiles(const Lists<std::uint32_t>& rows, std::int64_t block) {
  const std::size_t parts = threads_for(rows.rows());
  std::vector<GroupTiles> made(parts);
  in_parallel(parts, rows.rows(), [&](std::size_t part, std::size_t first, std::size_t last) {
    made[part] = Tiler(rows, block).tiled(first, last);
  });
  GroupTiles all = std::move(made.front());
  const auto in_all = [&](auto of) {
    std::size_t size = of(all).size();
    for (const GroupTiles& part : made) size += of(part).size();
    return size;
  };
  // Kernels number entries by 32 bits.
  all.entries.reserve(counted(in_all([](const GroupTiles& t) -> const auto& { return t.entries; })));
  all.bases.reserve(in_all([](const GroupTiles& t) -> const auto& { return t.bases; }));
  for (std::size_t part = 1; part < parts; ++part) {
    append(all, made[part]);
    made[part] = {};
  }
  all.groups = static_cast<std::int64_t>(rows.rows());
  all.copies = static_cast<std::int64_t>(rows.items.size());
  return all;
}

}  // namespace slipstream
