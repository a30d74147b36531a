// Ghost cells of arrays that this program allocated itself, on its own communicator, boxes and stream.
#include <cuda_runtime.h>

#include <cstdio>

#include <slipstream/exchange.hpp>

namespace ss = slipstream;
constexpr int n = 64, g = 2, wide = n + 2 * g;  // cells a side, ghost layers, both

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  float* u = nullptr;  // own array [z][y][x], ghosts included
  int wrong = 0;
  {
    const ss::Communicator comm(MPI_COMM_WORLD);  // or any other that the program has; a duplicate is used
    const ss::Machine machine = ss::Machine::discover(comm, {ss::Backend::cuda, 1, 0, false, false});
    const ss::Device gpu = machine.device(machine.devices_of_rank(comm.rank())[0]).local;

    ss::GridOptions cut;
    cut.periodic = {true, true, true};
    for (int r = 0; r < comm.size(); ++r)  // own boxes: rank r holds a cube, in a row along x
      cut.boxes.push_back({r, {{r * n, 0, 0}, {(r + 1) * n, n, n}}, machine.devices_of_rank(r)[0]});
    const ss::Grid grid({comm.size() * n, n, n}, machine, comm.rank(), cut);

    cudaSetDevice(gpu.index);
    cudaMalloc(&u, sizeof(float) * wide * wide * wide);
    cudaMemset(u, 1 + comm.rank(), sizeof(float) * wide * wide * wide);
    ss::Field field = ss::Field::adopt(comm, grid, {.name = "u", .ghost = {g, g, g}}, {{u}});

    cudaStream_t mine;  // own stream: the exchange starts after what it holds and what follows sees the ghosts
    cudaStreamCreate(&mine);
    std::vector<ss::Stream> streams;
    streams.push_back(ss::Stream::wrap(gpu, mine));

    const ss::Halo halo({.reach = ss::Reach::all, .low = {g, g, g}, .high = {g, g, g}});
    ss::Exchange exchange(comm, grid, {{&halo, &field}});
    exchange.begin(streams);  // kernels on the interior may be queued here
    exchange.end(streams);

    unsigned char ghost = 0;  // every byte of a neighbour's array is 1 + its rank
    cudaMemcpyAsync(&ghost, u + (g * wide + g) * wide, 1, cudaMemcpyDeviceToHost, mine);
    cudaStreamSynchronize(mine);
    exchange.check();  // throws where a neighbour did not send in time
    std::printf("rank %d: ghosts on the left hold %d\n", comm.rank(), ghost);
    wrong = ghost != 1 + (comm.rank() + comm.size() - 1) % comm.size();
  }  // the library's objects end before the array and MPI do
  cudaFree(u);
  MPI_Finalize();
  return wrong;
}
