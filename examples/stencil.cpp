// A user-defined stencil: the heat equation on a periodic box, on any number of ranks. Runs on GPUs if the library
// supports them and there are any.
#include <cmath>
#include <cstdio>

#include <slipstream/point_update.hpp>
namespace slip = slipstream;

struct Heat {
  double rate;  // diffusion number: diffusivity x time step / cell^2
  SLIP_FN double operator()(const slip::Around<double>& u) const {
    const double around = u(1, 0, 0) + u(-1, 0, 0) + u(0, 1, 0) + u(0, -1, 0) + u(0, 0, 1) + u(0, 0, -1);
    return u(0, 0, 0) + rate * (around - 6 * u(0, 0, 0));
  }
};

int main() {
  const slip::Communicator comm = slip::Communicator::world();  // this object starts MPI and ends it
  const slip::Backend backend = slip::available(slip::Backend::cuda) ? slip::Backend::cuda : slip::Backend::host;
  const slip::Machine machine = slip::Machine::discover(comm, {.backend = backend});
  const slip::Grid grid({48, 32, 32}, machine, comm.rank(), {.periodic = {true, true, true}});
  slip::PointUpdate<double, Heat> heat(comm, grid, Heat{0.1});
  const auto wave = [](const slip::Extent& at) { return std::sin(2 * M_PI * (at[0] + 0.5) / 48); };
  heat.fill(wave);
  heat.advance(100);
  double off = 0, decay = std::pow(1 - 4 * 0.1 * std::pow(std::sin(M_PI / 48), 2), 100);
  heat.each([&](const slip::Extent& at, double u) { off = std::max(off, std::abs(u - decay * wave(at))); });
  std::printf("rank %d: the wave decays, off by at most %.1e\n", comm.rank(), off);
  return off < 1e-12 ? 0 : 1;
}
