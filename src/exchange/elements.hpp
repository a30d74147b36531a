#pragma once
// Elements of an array that one end of a transfer refers to.
#include <algorithm>

#include <slipstream/field.hpp>
#include <slipstream/transfer.hpp>

namespace slipstream {

/// Calls f(index in the array) for each value of an index set, in order, until f returns true. Returns whether it did.
template <class F>
bool any_element(const IndexSet& set, const BlockShape& shape, F f) {
  if (set.ids)
    return std::any_of(set.ids->begin(), set.ids->end(), [&](std::int64_t id) { return f(shape.origin + id); });
  const Box& box = set.box;
  for (const int c : set.components)
    for (std::int64_t z = box.lo[2]; z < box.hi[2]; ++z)
      for (std::int64_t y = box.lo[1]; y < box.hi[1]; ++y)
        for (std::int64_t x = box.lo[0]; x < box.hi[0]; ++x)
          if (f(shape.origin + c * shape.component_stride + x * shape.stride[0] + y * shape.stride[1] +
                z * shape.stride[2]))
            return true;
  return false;
}

/// Whether two index sets have a component in common.
inline bool share_components(const IndexSet& a, const IndexSet& b) {
  return std::any_of(a.components.begin(), a.components.end(), [&](int component) {
    return std::find(b.components.begin(), b.components.end(), component) != b.components.end();
  });
}

}  // namespace slipstream
