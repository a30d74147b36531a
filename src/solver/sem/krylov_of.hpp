#pragma once
// Converts vectors and layouts of a space of elements to those of Krylov methods.
#include <slipstream/krylov.hpp>
#include <slipstream/sem.hpp>

namespace slipstream::sem {

inline krylov::Values values(const Vector& vector) {
  const std::vector<double*> all = pointers(vector);
  return {all.begin(), all.end()};
}

/// Layout for Krylov methods: `values_of_an_element` values per element; partial sums cover the blocks of elements.
inline krylov::Layout layout_of(Space& space, std::int64_t values_of_an_element, int components = 1) {
  krylov::Layout layout;
  layout.components = components;
  layout.block = space.elements_of_a_block() * values_of_an_element;
  for (std::size_t d = 0; d < space.streams().size(); ++d) {
    layout.points.push_back(space.elements(d) * values_of_an_element);
    layout.first_block.push_back(space.first_element(d) / space.elements_of_a_block());
  }
  return layout;
}

}  // namespace slipstream::sem
