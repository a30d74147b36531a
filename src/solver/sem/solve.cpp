// Poisson's and Helmholtz's equations: what conjugate gradients need to know of elements.
#include <slipstream/sem.hpp>

namespace slipstream::sem {
namespace {

krylov::Values values(const Vector& vector) {
  krylov::Values all;
  for (const Buffer<double>& part : vector) all.push_back(part.data());
  return all;
}

}  // namespace

krylov::Result solve(Space& space, const Vector& b, Vector& x, double h1, double h2, krylov::Options options) {
  krylov::Layout layout;
  layout.block = Space::elements_of_a_block * space.points_per_element();
  for (std::size_t d = 0; d < space.streams().size(); ++d) {
    layout.points.push_back(space.points(d));
    layout.first_block.push_back(space.first_element(d) / Space::elements_of_a_block);
  }
  const auto& periodic = space.box().periodic;
  options.null_space = options.null_space || (periodic[0] && periodic[1] && periodic[2] && h2 == 0);
  const Vector inverse = space.inverse_diagonal(h1, h2);
  krylov::System system;
  system.apply = [&](const krylov::Vectors& in, const krylov::Vectors& out) {
    space.helmholtz(in, out, h1, h2);
    space.assemble(out);
  };
  system.weights = values(space.weights());
  system.inverse_diagonal = values(inverse);
  system.measure = values(space.mass_matrix());
  krylov::ConjugateGradients method(space.comm(), space.machine(), std::move(layout));
  const krylov::Result result = method.solve(space.streams(), system, values(b), pointers(x), options);
  for (Stream& stream : space.streams()) stream.synchronize();
  return result;
}

}  // namespace slipstream::sem
