// The Laplacian of a wave by Fourier transforms. Each device has a part of a 24 x 20 x 16 box.
#include <cmath>
#include <complex>
#include <cstdio>
#include <numbers>

// The code for Slipstream begins here.
#include <slipstream/fft.hpp>
namespace slip = slipstream;
// The code for Slipstream ends here.

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  double most = 0;
  {
    const auto wave = [](std::int64_t x, std::int64_t z) {
      return std::cos(2 * std::numbers::pi * (3 * static_cast<double>(x) / 24 + 2 * static_cast<double>(z) / 16));
    };
    // The code for Slipstream begins here.
    const slip::Communicator comm(MPI_COMM_WORLD);
    const slip::Machine machine = slip::Machine::discover(comm, {slip::Backend::host, 1, 0, false, false});
    slip::FftOptions options;
    options.type = slip::DType::f64;
    slip::Fft fft(comm, machine, {24, 20, 16}, options);
    const slip::Box cells = fft.physical().block(fft.physical().local()[0]).box,
                    modes = fft.spectral().block(fft.spectral().local()[0]).box;  // axes of this box of modes: z, x, y
    std::vector<double> u(cells.volume());                                        // values of the slab [z][y][x]
    std::vector<std::complex<double>> v(modes.volume());                          // values of the modes [y][x][z]
    std::vector<slip::Stream> streams;
    streams.emplace_back(machine.device(machine.devices_of_rank(comm.rank())[0]).local);
    for (std::size_t i = 0; i < u.size(); ++i) u[i] = wave(i % 24, cells.lo[2] + i / (24 * 20));

    fft.forward({u.data()}, {v.data()}, streams);
    streams[0].synchronize();
    for (std::size_t i = 0; i < v.size(); ++i) {
      const auto wrapped = [](std::int64_t k, std::int64_t n) { return static_cast<double>(2 * k > n ? k - n : k); };
      const double kz = wrapped(i % 16, 16), kx = static_cast<double>(i / 16 % 13);
      const double ky = wrapped(modes.lo[2] + i / (16 * 13), 20);
      v[i] *= -(kx * kx + ky * ky + kz * kz);
    }
    fft.backward({v.data()}, {u.data()}, streams);
    streams[0].synchronize();
    fft.check();  // check() throws if another rank took no part in the transforms
    // The code for Slipstream ends here.
    for (std::size_t i = 0; i < u.size(); ++i)
      most = std::max(most, std::abs(u[i] + 13 * wave(i % 24, cells.lo[2] + i / (24 * 20))));
    std::printf("rank %d: the Laplacian of a wave is right to %.0e\n", comm.rank(), most);
  }  // the library's objects are destroyed before MPI ends
  MPI_Finalize();
  return most > 1e-10;
}
