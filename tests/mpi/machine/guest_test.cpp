// The library leaves the host program's environment, signal handlers and CPU affinity unchanged.
#include <gtest/gtest.h>

#include <atomic>
#include <csetjmp>
#include <csignal>
#include <thread>

#include "machine/crash_guard.hpp"
#include "machine/gpu_mpi.hpp"
#include "support/exchange_rig.hpp"
#include "support/host_picture.hpp"

namespace slipstream {
namespace {

TEST(Guest, MpiIsStartedWithoutATrace) {
  const StartOfMpi& pictures = StartOfMpi::taken();
  EXPECT_EQ(difference(pictures.before, pictures.after), "");
}

TEST(Guest, TheMachineIsDiscoveredWithoutATrace) {
  const HostPicture before = HostPicture::now();
  const Machine machine = Machine::discover(Communicator::world(), Machine::Options{});
  EXPECT_EQ(difference(before, HostPicture::now()), "");
  for (const Binding& binding : machine.bindings()) EXPECT_FALSE(binding.bound);
}

TEST(Guest, AnExchangeComesAndGoesWithoutATrace) {
  const Communicator comm = Communicator::world();
  for (const Backend backend : backends_here()) {
    if (!unavailable(backend, 1).empty()) continue;
    const HostPicture before = HostPicture::now();
    {
      const Machine machine = machine_here(backend, 1);
      GridOptions periodic;
      periodic.periodic = {true, true, true};
      const Grid grid({8 * machine.devices(), 6, 4}, machine, comm.rank(), periodic);
      Field field(grid, {.name = "u", .ghost = {1, 1, 1}, .shared = true});
      const Halo halo{Halo::Options{}};
      Exchange exchange(comm, grid, {{&halo, &field}});
      std::vector<Stream> streams = streams_of(grid);
      exchange_once(exchange, streams, 1);
    }
    EXPECT_EQ(difference(before, HostPicture::now()), "") << to_string(backend);
  }
}

TEST(Guest, DeviceMemoryIsProvenToMpiWithoutATrace) {
  const HostPicture before = HostPicture::now();
  EXPECT_EQ(try_gpu_mpi(Communicator::world(), {{Backend::host, 0}}), "");
  EXPECT_EQ(difference(before, HostPicture::now()), "");
}

std::atomic<int> faults_of_the_host = 0;
sigjmp_buf way_on;

void handler_of_the_host(int number) {
  ++faults_of_the_host;
  siglongjmp(way_on, number);
}

/// Causes a fault: writes to an unmapped address.
void fault() { *reinterpret_cast<volatile int*>(std::uintptr_t{16}) = 1; }

TEST(Guest, FaultsOfOtherThreadsGoToTheHandlerOfTheHost) {
  struct sigaction own {
  }, before{};
  own.sa_handler = handler_of_the_host;
  sigaction(SIGSEGV, &own, &before);
  faults_of_the_host = 0;
  {
    CrashGuard guard;
    const volatile int caught = sigsetjmp(guard.place(), 1);
    if (caught == 0) {
      std::thread other([] {
        if (sigsetjmp(way_on, 1) == 0) fault();
      });
      other.join();
      EXPECT_EQ(faults_of_the_host, 1);
      fault();
    }
    EXPECT_EQ(caught, SIGSEGV);
    EXPECT_EQ(faults_of_the_host, 1);
  }
  struct sigaction after {};
  sigaction(SIGSEGV, &before, &after);
  EXPECT_EQ(after.sa_handler, handler_of_the_host);
}

}  // namespace
}  // namespace slipstream
