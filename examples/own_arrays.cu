// Fills ghost cells of arrays that this program has allocated, on its own communicator, boxes and stream.
#include <cuda_runtime.h>

#include <cstdio>

// The code for Slipstream begins here.
#include <slipstream/exchange.hpp>
namespace slip = slipstream;
// The code for Slipstream ends here.

constexpr int n = 64, g = 2, wide = n + 2 * g;  // cells per side, ghost layers, cells per side with ghosts

/// An array [z][y][x] including ghosts, every byte 1 + the rank.
float* own_array(int device, int rank) {
  float* u = nullptr;
  cudaSetDevice(device);
  cudaMalloc(&u, sizeof(float) * wide * wide * wide);
  cudaMemset(u, 1 + rank, sizeof(float) * wide * wide * wide);
  return u;
}

cudaStream_t own_stream(int device) {
  cudaStream_t stream = nullptr;
  cudaSetDevice(device);
  cudaStreamCreate(&stream);
  return stream;
}

/// Prints the ghost left of the first interior cell. Returns true if it is not the left rank's value.
bool wrong_ghost(const float* u, int rank, int ranks) {
  unsigned char ghost = 0;
  cudaMemcpy(&ghost, u + (g * wide + g) * wide, 1, cudaMemcpyDeviceToHost);
  std::printf("rank %d: ghosts on the left hold %d\n", rank, ghost);
  return ghost != 1 + (rank + ranks - 1) % ranks;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  float* u = nullptr;
  bool wrong = false;
  {
    // The code for Slipstream begins here.
    // MPI_COMM_WORLD may be another communicator of the program; the library uses a duplicate.
    const slip::Communicator comm(MPI_COMM_WORLD);
    const slip::Machine machine = slip::Machine::discover(comm, {slip::Backend::cuda, 1, 0, false, false});
    const slip::Device gpu = machine.device(machine.devices_of_rank(comm.rank())[0]).local;
    slip::GridOptions cut{.periodic = {true, true, true}};
    for (int r = 0; r < comm.size(); ++r)  // this program's boxes: each rank has a cube, in a row along x
      cut.boxes.push_back({r, {{r * n, 0, 0}, {(r + 1) * n, n, n}}, machine.devices_of_rank(r)[0]});
    const slip::Grid grid({comm.size() * n, n, n}, machine, comm.rank(), cut);

    u = own_array(gpu.index, comm.rank());
    // the exchange runs after earlier work of this stream and before later work
    cudaStream_t mine = own_stream(gpu.index);
    slip::Field field = slip::Field::adopt(comm, grid, {.name = "u", .ghost = {g, g, g}}, {{u}});
    std::vector<slip::Stream> streams;
    streams.push_back(slip::Stream::wrap(gpu, mine));
    const slip::Halo halo({.reach = slip::Reach::all, .low = {g, g, g}, .high = {g, g, g}});
    slip::Exchange exchange(comm, grid, {{&halo, &field}});

    exchange.begin(streams);  // queue kernels on interior cells here
    exchange.end(streams);
    cudaStreamSynchronize(mine);
    exchange.check();  // check() throws if a neighbour took no part in the exchange; so does the next begin()
    // The code for Slipstream ends here.
    wrong = wrong_ghost(u, comm.rank(), comm.size());
  }  // the library's objects are destroyed before the array is freed and MPI ends
  cudaFree(u);
  MPI_Finalize();
  return wrong;
}
