// What all ranks tell each other of values that were too large for their coding: the same error on all, or none.
#include <algorithm>

#include <slipstream/error.hpp>

#include "exchange/impl.hpp"
#include "machine/patience.hpp"

namespace slipstream {
namespace {

/// Exchanges of device-driven routes between two questions of their hosts to each other, which wait for no device.
constexpr int asked_every = 64;

/// What this rank's devices found, in what has run so far: 1 + the last item, or 0.
int found_here(const std::vector<std::unique_ptr<Side>>& sides) {
  int found = 0;
  for (const auto& side : sides)
    if (const Failure* told = side->failure.data())
      found = std::max(found, static_cast<int>(load_acquire(&told->overflow)));
  return found;
}

}  // namespace

/// Ranks that replay a graph and ranks that do not would not ask each other equally often.
void Exchange::Impl::agree_on_captures() {
  told_at_end = looks || !comm.all(!host_driven);
  capturable = comm.all(capturable && !looks);
  limited_in_graphs = comm.all(limited_in_graphs);
}

/// Who packs a value knows it, so that nobody needs to wait for what arrives. `late`: of what begins at end().
void Exchange::Impl::mark_encoded(const std::vector<Stream*>& streams, bool late) {
  if (!told_at_end) return;
  for (std::size_t i = 0; i < sides.size(); ++i)
    if (sides[i]->encodes_late == late) streams[i]->record(sides[i]->encoded);
}

/// Collective.
void Exchange::Impl::agree_on_values() {
  const std::optional<int> found = agreement->greatest(found_here(sides), options.wait_limit);
  if (!found) {
    unanswered = true;
    complaint = too_late(sequence, "rank " + std::to_string(grid.rank()) + " waited",
                         "the other ranks to tell whether a value was too large for its coding, or never stored",
                         options.wait_limit);
    throw Timeout(*complaint);
  }
  too_large_of = std::max(too_large_of, *found);
  if (looks) check_windows();
  check_values();
}

/// A device's own waits end first.
void Exchange::Impl::agree_at_end() {
  if (!told_at_end) return;
  const auto encoded = [this] {
    return std::all_of(sides.begin(), sides.end(), [](const auto& side) { return side->encoded.done(); });
  };
  if (!asked_until(encoded, 2 * options.wait_limit)) {
    complaint = too_late(sequence, "rank " + std::to_string(grid.rank()) + " waited", "its own devices to pack",
                         2 * options.wait_limit);
    throw Timeout(*complaint);
  }
  agree_on_values();
}

void Exchange::Impl::agree_now_and_then(const std::vector<Stream>& streams) {
  if (!coded || told_at_end) return;
  if (std::any_of(streams.begin(), streams.end(), [](const Stream& s) { return s.capturing(); })) return;
  if (++begun_unasked <= asked_every) return;
  begun_unasked = 1;
  agree_on_values();
}

/// A question that some rank has not answered is under way for good: the ranks do not meet there any more.
bool Exchange::Impl::part(double seconds) noexcept {
  if (!agreement) return own->part(seconds);
  const std::optional<int> somewhere = own->greatest(unanswered, seconds);
  if (somewhere != 0) agreement->part_alone();
  return somewhere && own->part(seconds);
}

Overflow Exchange::Impl::too_large(int item) const {
  const PlannedItem& of = planned.at(static_cast<std::size_t>(item));
  const std::string& pattern = pattern_names.at(static_cast<std::size_t>(item));
  return Overflow(name(sequence) + ": a finite value of item " + std::to_string(item) + " (" + of.source.name + " by " +
                      pattern + ") is too large for its coding, " + to_string(of.coding) +
                      ", and arrived as infinite, in this exchange or before: choose the coding raw or scale the field",
                  {{"sequence", sequence},
                   {"item", item},
                   {"field", of.source.name},
                   {"pattern", pattern},
                   {"coding", to_string(of.coding)}});
}

/// Throws what all ranks know, and so on all of them.
void Exchange::Impl::check_values() const {
  if (unwritten) throw Unwritten(*unwritten);
  if (too_large_of > 0) throw too_large(too_large_of - 1);
}

void Exchange::Impl::check() {
  check_waits();
  if (coded && !told_at_end && too_large_of == 0) agree_on_values();
  check_values();
}

}  // namespace slipstream
