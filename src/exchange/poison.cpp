// What finds values that were read before they came, or were never stored (ExchangeOptions::poison).
#include <algorithm>

#include <slipstream/error.hpp>

#include "device/upload.hpp"
#include "exchange/impl.hpp"
#include "machine/agree.hpp"
#include "route/lower.hpp"

namespace slipstream {
namespace {

/// Of floats the poison is a value that nobody computes, of integers it is -1.
bool can_be_looked_at(DType type) { return type != DType::u8 && type != DType::i32 && type != DType::i64; }

std::int64_t volume(const Window& w) { return (w.hi[0] - w.lo[0]) * (w.hi[1] - w.lo[1]) * (w.hi[2] - w.lo[2]); }

/// Which cell the n-th value of a window is.
Extent cell_of(const Window& w, std::int64_t n) {
  const std::int64_t width = w.hi[0] - w.lo[0], height = w.hi[1] - w.lo[1];
  return {w.lo[0] + n % width, w.lo[1] + n / width % height, w.lo[2] + n / width / height};
}

std::string shown(const Extent& cell) {
  std::string text;
  for (const std::int64_t at : cell) text += (text.empty() ? "" : ", ") + std::to_string(at);
  return text;
}

}  // namespace

/// Places where values arrive and that the exchange does not read; and the windows of its kernels.
void Exchange::Impl::make_poison(Side& side) {
  const Reads reads(grid, items, bundles);
  std::vector<Poisoned> targets, produced;
  for (std::size_t r = 0; r < side.receivers.size(); ++r)
    for (const Leg& leg : channels[side.received[r]].bundle->legs) {
      if (leg.transfer->op != Op::copy || reads.touched_by(leg)) continue;
      const Place place = place_of(leg, ItemEnd::target, side);
      const auto bytes = static_cast<std::int32_t>(size_of(leg.type));
      const auto from_array = [&](Window& w) {
        if (w.array >= 0)
          w.base -= reinterpret_cast<std::intptr_t>(side.arrays.planned[static_cast<std::size_t>(w.array)]);
      };
      if (leg.transfer->target.ids) {
        Poisoned listed;
        listed.places.base = reinterpret_cast<std::intptr_t>(place.origin);
        listed.places.array = place.array;
        from_array(listed.places);
        listed.ids = side.poisoned_lists.emplace_back(upload(side.device, *leg.transfer->target.ids)).data();
        listed.count = leg.transfer->target.size();
        listed.bytes = bytes;
        targets.push_back(listed);
        continue;
      }
      std::vector<Window> boxes;
      add_windows(leg, place, boxes);
      for (Window& w : boxes) {
        from_array(w);
        targets.push_back({w, nullptr, volume(w), bytes});
      }
    }
  for (const auto& [item, windows] : side.windows)
    for (const Window& w : windows.list)
      if (can_be_looked_at(planned[item].source.type))
        produced.push_back({w, nullptr, volume(w), static_cast<std::int32_t>(size_of(planned[item].source.type))});
  side.targets.emplace(side.device, std::move(targets), side.arrays);
  if (!produced.empty()) side.produced.emplace(side.device, std::move(produced), side.arrays);
}

/// Slots are free once they are poisoned, and not before.
void Exchange::Impl::strip_release(Side& side, Batch& release) {
  for (auto& receiver : side.receivers)
    for (Batch& batch : receiver->batches) {
      release.after.insert(release.after.end(), batch.after.begin(), batch.after.end());
      batch.after.clear();
    }
}

/// Before anything else of an exchange.
void Exchange::Impl::poison(Side& side, Stream& stream) {
  for (auto& sender : side.senders) sender->poison(stream);
  side.targets->fill(stream, side.broken());
  stream.record(side.poisoned);
}

/// Behind what unpacks.
void Exchange::Impl::poison_slots(Side& side, Stream& stream) {
  for (auto& receiver : side.receivers) receiver->poison(stream);
  if (!side.release.empty()) side.release.run(stream, pulse(side), false);
}

/// Tells of the places that this rank's kernels have left; none where they have stored everything.
std::optional<Unwritten> Exchange::Impl::unwritten_here() const {
  Poison::Left all;
  const Side* where = nullptr;
  for (const auto& side : sides) {
    if (!side->produced) continue;
    const Poison::Left left = side->produced->left();
    if (left.count && !where) where = side.get();
    if (where == side.get())
      all.add(left);
    else
      all.count += left.count;
  }
  if (!where) return {};
  const Window& w = where->produced->window(all.place);
  const PlannedItem& item = planned.at(static_cast<std::size_t>(w.item));
  const std::string& pattern = pattern_names.at(static_cast<std::size_t>(w.item));
  const std::string cell = "(" + shown(cell_of(w, all.value)) + ")";
  return Unwritten(name(sequence) + ": between open() and post(), the caller's kernels left " +
                       std::to_string(all.count) + " values of rank " + std::to_string(grid.rank()) +
                       " unwritten, or stored what they had read before it came; the first is of item " +
                       std::to_string(w.item) + " (" + item.source.name + " by " + pattern + "): component " +
                       std::to_string(w.component) + " of cell " + cell + " of block " + std::to_string(w.block) +
                       ", in a window on " + to_string(where->device),
                   {{"sequence", sequence},
                    {"values", all.count},
                    {"rank", grid.rank()},
                    {"item", w.item},
                    {"field", item.source.name},
                    {"pattern", pattern},
                    {"component", w.component},
                    {"cell", cell},
                    {"block", w.block},
                    {"device", to_string(where->device)}});
}

/// Collective, behind the streams' looks.
void Exchange::Impl::check_windows() {
  if (unwritten) return;
  if (const Problem first = first_failure(comm, unwritten_here())) unwritten.emplace(first->what(), first->facts());
}

}  // namespace slipstream
