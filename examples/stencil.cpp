// Your own stencil: heat on a periodic box, on any number of ranks. Compiled as CUDA it runs on GPUs, too.
#include <cmath>
#include <cstdio>

#include <slipstream/point_update.hpp>
namespace ss = slipstream;

struct Heat {
  double rate;  // diffusivity x time step / cell^2
  SLIP_FN double operator()(const ss::Around<double>& u) const {
    const double around = u(1, 0, 0) + u(-1, 0, 0) + u(0, 1, 0) + u(0, -1, 0) + u(0, 0, 1) + u(0, 0, -1);
    return u(0, 0, 0) + rate * (around - 6 * u(0, 0, 0));
  }
};

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  double off = 0;
  {
    const ss::Communicator comm(MPI_COMM_WORLD);
    const ss::Machine machine = ss::Machine::discover(comm, {ss::Backend::host, 2, 0, false, false});
    ss::GridOptions periodic;
    periodic.periodic = {true, true, true};
    const ss::Grid grid({48, 32, 32}, machine, comm.rank(), periodic);
    ss::PointUpdate<double, Heat> heat(comm, grid, Heat{0.1});
    const auto wave = [](std::int64_t i) { return std::sin(2 * M_PI * (i + 0.5) / 48); };
    for (const std::int64_t id : grid.local()) {
      const ss::Box& box = grid.block(id).box;
      std::vector<double> start(box.volume());  // [z][y][x]
      for (std::size_t n = 0; n < start.size(); ++n) start[n] = wave(box.lo[0] + n % box.extent(0));
      heat.field().write(box, start.data());
    }
    heat.advance(100);
    const double decay = std::pow(1 - 4 * 0.1 * std::pow(std::sin(M_PI / 48), 2), 100);
    for (const std::int64_t id : grid.local()) {
      const ss::Box& box = grid.block(id).box;
      std::vector<double> found(box.volume());
      heat.field().read(box, found.data());
      for (std::size_t n = 0; n < found.size(); ++n)
        off = std::max(off, std::abs(found[n] - decay * wave(box.lo[0] + n % box.extent(0))));
    }
    std::printf("rank %d: the wave decays, off by at most %.1e\n", comm.rank(), off);
  }  // the library's objects end before MPI does
  MPI_Finalize();
  return off < 1e-12 ? 0 : 1;
}
