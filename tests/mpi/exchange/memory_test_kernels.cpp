// Memory and signals shared by processes of a node, on every available backend.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <vector>

#include <slipstream/buffer.hpp>
#include <slipstream/communicator.hpp>
#include <slipstream/launch.hpp>
#include <slipstream/signal.hpp>

#include "support/device_rig.hpp"

namespace slipstream {
inline namespace memory_test_kernels {

constexpr std::uint64_t minute_ns = 60ull * 1000000000ull;

struct WaitOrMiss {
  const Signal* signal;
  std::uint64_t value;
  int* missed;
  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    team.each([&](int t) {
      if (t == 0 && !wait_for(signal, value, minute_ns)) *missed = 1;
    });
  }
};

/// Passes a value around a ring of ranks.
template <class T>
T from_previous(const Communicator& world, const T& mine) {
  const int next = (world.rank() + 1) % world.size(), previous = (world.rank() + world.size() - 1) % world.size();
  T theirs = mine;
  MPI_Sendrecv(&mine, sizeof mine, MPI_BYTE, next, 0, &theirs, sizeof theirs, MPI_BYTE, previous, 0, world.mpi(),
               MPI_STATUS_IGNORE);
  return theirs;
}

/// Tests memory and signals that processes of a node share, on every available backend. Each rank uses one device of
/// the backend.
class MemoryTest : public testing::TestWithParam<Backend> {
 protected:
  const Communicator world = Communicator::world();
  const Device device{GetParam(), world.rank() % std::max(1, device_count(GetParam()))};
};

INSTANTIATE_TEST_SUITE_P(Backends, MemoryTest, testing::ValuesIn(backends_here()),
                         [](const auto& info) { return to_string(info.param); });

TEST_P(MemoryTest, NeighbourReadsExportedMemoryAtItsOffset) {
  Stream stream(device);
  const Buffer<int> mine(device, 5000, Memory::shared), copied(device, 1000);
  launch(stream, row(5000), WriteRamp{mine.data(), 100000 * world.rank()});
  stream.synchronize();
  const MemoryHandle theirs = from_previous(world, export_memory(device, mine.data() + 1234));
  const auto imported = import_memory(device, theirs);
  const int* const mapped = static_cast<const int*>(imported.get());
  world.barrier();
  copy(stream, copied.data(), mapped, copied.bytes());
  const auto result = read_back(stream, copied);
  const int previous = (world.rank() + world.size() - 1) % world.size();
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(result[i], 100000 * previous + 1234 + i);
  world.barrier();
}

TEST_P(MemoryTest, KernelWritesIntoTheNeighboursMemory) {
  Stream stream(device);
  const Buffer<int> mine(device, 3000, Memory::shared);
  fill(stream, mine.data(), 0, mine.bytes());
  stream.synchronize();
  const auto imported = import_memory(device, from_previous(world, export_memory(device, mine.data())));
  int* const mapped = static_cast<int*>(imported.get());
  world.barrier();
  launch(stream, row(3000), WriteRamp{mapped, 1000 * world.rank()});
  stream.synchronize();
  world.barrier();
  const int next = (world.rank() + 1) % world.size();
  const auto result = read_back(stream, mine);
  for (int i = 0; i < 3000; ++i) ASSERT_EQ(result[i], 1000 * next + i);
  world.barrier();
}

TEST_P(MemoryTest, AllocationIsMappedOnce) {
  const Buffer<int> mine(device, 1000, Memory::shared);
  const MemoryHandle first = from_previous(world, export_memory(device, mine.data()));
  const MemoryHandle second = from_previous(world, export_memory(device, mine.data() + 10));
  const auto a = import_memory(device, first), b = import_memory(device, second);
  EXPECT_EQ(static_cast<const int*>(b.get()) - static_cast<const int*>(a.get()), 10);
  world.barrier();
}

/// Imported memory is identified by random bits in it, because in containers process numbers and file descriptors may
/// be the same for different memory.
TEST_P(MemoryTest, OtherMemoryUnderTheSameNameIsRefused) {
  const Buffer<int> mine(device, 1000, Memory::shared), other(device, 1000, Memory::shared);
  const Buffer<int> pinned(device, 1000, Memory::pinned_shared);
  MemoryHandle wrong = export_memory(device, mine.data());
  wrong.proof = export_memory(device, other.data()).proof;
  wrong.proof[0] ^= 1;
  MemoryHandle another = export_memory(device, pinned.data());
  another.proof[1] ^= 1;
  MemoryHandle no_memory = export_memory(device, pinned.data());
  no_memory.proof[0] ^= 1;
  no_memory.file = 0;
  for (const MemoryHandle& handle : {wrong, another, no_memory})
    EXPECT_THROW(import_memory(device, from_previous(world, handle)), Error);
  world.barrier();
}

TEST_P(MemoryTest, SignalsOrderDataBetweenProcesses) {
  constexpr int cells = 2000, rounds = 20;
  Stream sender(device), receiver(device);
  // Each rank writes into the next rank's buffer and increments its full counter; the next rank increments the free
  // counter. A counter is in the memory of the rank that waits for it.
  const Buffer<int> mine(device, cells, Memory::shared);
  // counters full (set by the previous rank) and free (set by the next rank)
  const Buffer<Signal> counters(device, 2, Memory::shared);
  const Buffer<int> wrong(device, 3);
  fill(sender, counters.data(), 0, counters.bytes());
  fill(sender, wrong.data(), 0, wrong.bytes());
  sender.synchronize();
  // All handles are gathered, because each rank needs the counters of both neighbours.
  std::vector<MemoryHandle> handles(world.size()), data_handles(world.size());
  const MemoryHandle handle = export_memory(device, counters.data()), data = export_memory(device, mine.data());
  MPI_Allgather(&handle, sizeof handle, MPI_BYTE, handles.data(), sizeof handle, MPI_BYTE, world.mpi());
  MPI_Allgather(&data, sizeof data, MPI_BYTE, data_handles.data(), sizeof data, MPI_BYTE, world.mpi());
  const int next = (world.rank() + 1) % world.size(), previous = (world.rank() + world.size() - 1) % world.size();
  const auto imported_data = import_memory(device, data_handles[next]),
             imported_next = import_memory(device, handles[next]),
             imported_previous = import_memory(device, handles[previous]);
  auto* const next_data = static_cast<int*>(imported_data.get());
  auto* const next_counters = static_cast<Signal*>(imported_next.get());
  auto* const previous_counters = static_cast<Signal*>(imported_previous.get());
  world.barrier();
  for (int round = 0; round < rounds; ++round) {
    const auto past = static_cast<std::uint64_t>(round);
    launch_teams(sender, 1, 1, 0, WaitOrMiss{&counters.data()[1], past, &wrong.data()[0]});
    launch(sender, row(cells), WriteRamp{next_data, 100 * world.rank() + round});
    launch_teams(sender, 1, 1, 0, Set{&next_counters[0], past + 1});
    launch_teams(receiver, 1, 1, 0, WaitOrMiss{&counters.data()[0], past + 1, &wrong.data()[1]});
    launch(receiver, row(cells), CheckRamp{mine.data(), 100 * previous + round, &wrong.data()[2]});
    launch_teams(receiver, 1, 1, 0, Set{&previous_counters[1], past + 1});
  }
  sender.synchronize();
  receiver.synchronize();
  EXPECT_EQ(read_back(sender, wrong), std::vector<int>(3, 0));
  world.barrier();
}

}  // namespace memory_test_kernels
}  // namespace slipstream
