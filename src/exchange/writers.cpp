// Finds values that an exchange would write twice in undefined order.
#include <algorithm>
#include <set>
#include <tuple>

#include <slipstream/error.hpp>

#include "exchange/elements.hpp"
#include "exchange/transfer_checks.hpp"
#include "grid/cell_text.hpp"

namespace slipstream {
namespace {

/// A transfer into a block of this rank.
struct Writer {
  const Field* field;
  const Pattern* pattern;
  const Transfer* transfer;
  const IndexSet& set() const { return transfer->target; }
  bool copies() const { return transfer->op == Op::copy; }
};

using Writers = std::vector<Writer>::const_iterator;

[[noreturn]] void refuse(const Writer& a, const Writer& b, const std::string& place) {
  const auto from = [](const Writer& w) { return "from block " + std::to_string(w.transfer->source_block); };
  throw Error(ErrorCode::unsupported,
              "the pattern '" + a.pattern->name() + "' moves a value " + from(a) + " to " + place + " of block " +
                  std::to_string(a.transfer->target_block) + " of " + named(a.field->options()) + ", and " +
                  (a.pattern == b.pattern ? "another one" : "the pattern '" + b.pattern->name() + "' one") + " " +
                  from(b) + ": nothing says which arrives last, so let one transfer copy to each place",
              {{"pattern", a.pattern->name()},
               {"source_block", a.transfer->source_block},
               {"target_block", a.transfer->target_block},
               {"field", a.field->options().name},
               {"place", place}});
}

void check_boxes(const Writer& a, const Writer& b) {
  if (!a.copies() && !b.copies()) return;
  const Box both = intersection(a.set().box, b.set().box);
  if (both.empty() || !share_components(a.set(), b.set())) return;
  refuse(a, b, "cell " + cell_text(both.lo));
}

/// Axis along which the boxes that transfers write begin at the most different coordinates, for a fast overlap check.
int axis_of_most_starts(Writers first, Writers last) {
  std::array<std::size_t, 3> starts{};
  for (std::size_t a = 0; a < 3; ++a) {
    std::set<std::int64_t> lows;
    for (Writers w = first; w != last; ++w) lows.insert(w->set().box.lo[a]);
    starts[a] = lows.size();
  }
  return static_cast<int>(std::max_element(starts.begin(), starts.end()) - starts.begin());
}

/// Finds boxes that overlap, by sorting along one axis. Only boxes whose ranges overlap on it are compared.
void sweep(Writers first, Writers last) {
  const int axis = axis_of_most_starts(first, last);
  std::vector<Writer> sorted(first, last);
  const auto low = [axis](const Writer& w) { return w.set().box.lo[axis]; };
  std::stable_sort(sorted.begin(), sorted.end(), [&](const Writer& a, const Writer& b) { return low(a) < low(b); });
  for (std::size_t i = 0; i < sorted.size(); ++i)
    for (std::size_t j = i + 1; j < sorted.size() && low(sorted[j]) < sorted[i].set().box.hi[axis]; ++j)
      check_boxes(sorted[i], sorted[j]);
}

/// Finds elements that are written twice, by marking each element that a list copies to.
void mark(const BlockShape& shape, Writers first, Writers last) {
  std::vector<bool> copied(static_cast<std::size_t>(shape.elements));
  const auto writer_of = [&](std::int64_t element) {
    return std::find_if(first, last, [&](const Writer& w) {
      return w.copies() && any_element(w.set(), shape, [&](std::int64_t other) { return other == element; });
    });
  };
  for (const bool copies : {true, false})
    for (Writers w = first; w != last; ++w) {
      if (w->copies() != copies) continue;
      any_element(w->set(), shape, [&](std::int64_t element) {
        const auto at = static_cast<std::size_t>(element);
        if (copied[at]) refuse(*writer_of(element), *w, "element " + std::to_string(element - shape.origin));
        copied[at] = copies;
        return false;
      });
    }
}

bool repeats_components(const Writer& w) {
  std::vector<int> sorted = w.set().components;
  std::sort(sorted.begin(), sorted.end());
  return std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
}

/// Throws if two transfers to one block of one field write the same value.
void check_block(Writers first, Writers last) {
  if (std::none_of(first, last, [](const Writer& w) { return w.copies(); })) return;
  if (std::any_of(first, last, [](const Writer& w) { return w.set().ids != nullptr; })) {
    mark(first->field->shape(first->transfer->target_block), first, last);
    return;
  }
  for (Writers w = first; w != last; ++w)
    if (w->copies() && repeats_components(*w)) refuse(*w, *w, "cell " + cell_text(w->set().box.lo));
  sweep(first, last);
}

}  // namespace

void check_writers(const Grid& grid, const std::vector<ExchangeItem>& items, const Bundles& bundles) {
  std::vector<Writer> writers;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Grid& to = items[i].pattern->target(grid);
    for (const Transfer& t : bundles.transfers[i])
      if (to.block(t.target_block).rank == grid.rank() && t.target.size() > 0)
        writers.push_back({&items[i].to(), items[i].pattern, &t});
  }
  const auto place = [](const Writer& w) { return std::tuple(w.field, w.transfer->target_block); };
  std::stable_sort(writers.begin(), writers.end(),
                   [&](const Writer& a, const Writer& b) { return place(a) < place(b); });
  for (Writers first = writers.begin(); first != writers.end();) {
    const Writers last =
        std::find_if(first, writers.cend(), [&](const Writer& w) { return place(w) != place(*first); });
    check_block(first, last);
    first = last;
  }
}

}  // namespace slipstream
