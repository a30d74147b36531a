#include "exchange/poison.hpp"

#include <slipstream/error.hpp>

#include "device/upload.hpp"
#include "grid/cell_text.hpp"
#include "mover/lower.hpp"

namespace slipstream {
namespace {

/// Whether poison is unmistakable. In floats it is a NaN that no computation yields; in integers -1, a possible value.
bool can_be_looked_at(DType type) { return type != DType::u8 && type != DType::i32 && type != DType::i64; }

std::int64_t volume(const Window& w) { return (w.hi[0] - w.lo[0]) * (w.hi[1] - w.lo[1]) * (w.hi[2] - w.lo[2]); }

/// Cell of the n-th value of a window, the caller's view of target memory.
Extent cell_of(const Window& w, std::int64_t n) {
  const std::int64_t width = w.hi[0] - w.lo[0], height = w.hi[1] - w.lo[1];
  return {w.lo[0] + n % width, w.lo[1] + n / width % height, w.lo[2] + n / width / height};
}

}  // namespace

void Poisoning::hold_release(std::vector<Batch>& batches) {
  for (Batch& batch : batches) {
    held_.after.insert(held_.after.end(), batch.after.begin(), batch.after.end());
    batch.after.clear();
  }
}

void Poisoning::make(const std::vector<const Leg*>& received, const std::vector<Window>& windows, const Reads& reads) {
  if (!held_.after.empty()) release_ = Program(on_.memory.device, {{&held_, 0, 0, 0}}, nullptr, 1);
  std::vector<Poisoned> targets, produced;
  for (const Leg* leg : received) {
    if (leg->transfer->op != Op::copy || reads.touched_by(*leg)) continue;
    const Place place = arrays_.place_of(*leg, ItemEnd::target, on_);
    const auto bytes = static_cast<std::int32_t>(size_of(leg->type));
    if (leg->transfer->target.ids) {
      Window all{.base = reinterpret_cast<std::intptr_t>(place.origin), .array = place.array};
      on_.count_from_array(all);
      const auto& ids = lists_.emplace_back(upload(on_.memory.device, *leg->transfer->target.ids));
      targets.push_back({all, ids.data(), leg->transfer->target.size(), bytes});
      continue;
    }
    std::vector<Window> boxes;
    add_windows(*leg, place, boxes);
    for (Window& w : boxes) {
      on_.count_from_array(w);
      targets.push_back({w, nullptr, volume(w), bytes});
    }
  }
  for (const Window& w : windows) {
    const DType type = plan_.items[static_cast<std::size_t>(w.item)].source.type;
    if (can_be_looked_at(type)) produced.push_back({w, nullptr, volume(w), static_cast<std::int32_t>(size_of(type))});
  }
  targets_.emplace(on_.memory.device, std::move(targets), on_.table);
  windows_.emplace(on_.memory.device, std::move(produced), on_.table);
}

void Poisoning::fill(Stream& stream) {
  targets_->fill(stream, on_.memory.broken());
  stream.record(filled_);
}

Unwritten Poisoning::unwritten(std::uint64_t number, std::int64_t all) const {
  const Poison::Left left = this->left();
  const Window& w = windows_->window(left.place);
  const PlannedItem& item = plan_.items.at(static_cast<std::size_t>(w.item));
  const std::string& pattern = plan_.patterns.at(static_cast<std::size_t>(w.item));
  const std::string cell = cell_text(cell_of(w, left.value));
  return Unwritten(plan_.name(number) + ": between open() and post(), the caller's kernels left " +
                       std::to_string(all) + " values of rank " + std::to_string(plan_.grid.rank()) +
                       " unwritten, or stored what they had read before it came; the first is of item " +
                       std::to_string(w.item) + " (" + item.source.name + " by " + pattern + "): component " +
                       std::to_string(w.component) + " of cell " + cell + " of block " + std::to_string(w.block) +
                       ", in a window on " + to_string(on_.memory.device),
                   {{"sequence", number},
                    {"values", all},
                    {"rank", plan_.grid.rank()},
                    {"item", w.item},
                    {"field", item.source.name},
                    {"pattern", pattern},
                    {"component", w.component},
                    {"cell", cell},
                    {"block", w.block},
                    {"device", to_string(on_.memory.device)}});
}

}  // namespace slipstream
