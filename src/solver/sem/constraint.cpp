// Points at which an unknown is fixed.
#include <slipstream/sem.hpp>

#include "machine/agree.hpp"
#include "solver/sem/kernels.hpp"

namespace slipstream::sem {

Constraint::Constraint(Space& space) : Constraint(space, space.box().dirichlet()) {}

Constraint::Constraint(Space& space, DirichletFaces faces) : space_(&space), faces_(std::move(faces)) {
  on_all_ranks(space.comm(), [&] {
    for (std::size_t d = 0; d < space.streams().size(); ++d) {
      Stream& stream = space.streams()[d];
      const std::int64_t first = space.first_element(d);
      const std::vector<double> free = mask(first, first + space.elements(d), space.order());
      mask_.emplace_back(stream.device(), free.size());
      weights_.emplace_back(stream.device(), free.size());
      if (free.empty()) continue;
      copy(stream, mask_[d].data(), free.data(), mask_[d].bytes());
      multiply(stream, space.weights()[d].data(), mask_[d].data(), weights_[d].data(), space.points(d));
      stream.synchronize();
    }
  });
}

bool Constraint::any() const { return faces_.any(); }
const Vector& Constraint::mask() const { return mask_; }
const Vector& Constraint::weights() const { return weights_; }
const DirichletFaces& Constraint::faces() const { return faces_; }

std::vector<double> Constraint::mask(std::int64_t first, std::int64_t last, int order) const {
  return space_->box().mask(faces_, first, last, order);
}

void Constraint::apply(const std::vector<double*>& u, int components) {
  for (std::size_t d = 0; d < u.size(); ++d)
    for (int c = 0; c < components; ++c) {
      double* const part = u[d] + c * space_->points(d);
      multiply(space_->streams()[d], part, mask_[d].data(), part, space_->points(d));
    }
}

void Constraint::assemble(Vector& u, int components) {
  space_->assemble(u, components);
  apply(pointers(u), components);
}

}  // namespace slipstream::sem
