#pragma once
#include <functional>
#include <string>
#include <vector>

#include <slipstream/communicator.hpp>
#include <slipstream/device.hpp>

namespace slipstream {

/// Test hook that simulates a faulty MPI library: called with the data of a message before it is sent.
using Liar = void (*)(std::byte* values, std::size_t bytes);

inline constexpr double gpu_mpi_seconds = 10;  ///< timeout of a message of the trial, in seconds

/// Reason why MPI cannot take device memory, the same on all ranks; empty if it can. Sends messages of 8 bytes and 1 MB
/// from device memory around the ring of ranks and from each rank to itself, and compares the results. A library may
/// crash on device memory, so the messages run with a guard against invalid addresses and a timeout in seconds.
/// Collective; `devices` are this rank's. The answer is cached with the communicator.
std::string prove_gpu_mpi(const Communicator& comm, const std::vector<Device>& devices, Liar liar = nullptr);
/// Tests by messages whether MPI can take device memory; returns a reason if not. Never takes a cached answer.
std::string try_gpu_mpi(const Communicator& comm, const std::vector<Device>& devices, double limit = gpu_mpi_seconds,
                        Liar liar = nullptr);

/// Reason why MPI-IO cannot write device memory, the same on all ranks; empty if it can. Each device writes to `path`,
/// a file of this rank, which is compared and removed. Working messages do not imply working files, because libraries
/// may treat both differently.
std::string prove_mpi_files(const Communicator& comm, const std::vector<Device>& devices, const std::string& path,
                            Liar liar = nullptr);

/// Reason why MPI, by its own claim, may not support memory of this backend's devices; empty if it claims support.
std::string gpu_mpi_claim(Backend backend);

// Common parts of tests of whether MPI accepts device memory: a guard against crashes, and a cache of the results.

/// Result of a test of MPI with device memory. The test `ask` runs once per communicator, which caches the result.
std::string answer_of(const Communicator& comm, const std::string& question, Backend backend,
                      const std::function<std::string()>& ask);
/// Result of a trial of MPI; a message if MPI crashed in it on an invalid address. After a crash no destructors of the
/// trial run.
std::string without_crash(const std::function<std::string()>& trial, const std::string& when = "on device memory");

}  // namespace slipstream
