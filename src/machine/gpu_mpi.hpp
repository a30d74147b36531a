#pragma once
#include <string>
#include <vector>

#include <slipstream/communicator.hpp>
#include <slipstream/device.hpp>

namespace slipstream {

/// For tests: stands in for a library that lies, called before a message is sent with the memory that is sent.
using Liar = void (*)(std::byte* values, std::size_t bytes);

inline constexpr double gpu_mpi_seconds = 10;  ///< that a message of the proof may take

/// Why device memory cannot be given to MPI, the same on all ranks; empty where messages of 8 bytes and 1 MB from
/// device memory, around the ring of ranks and of each rank to itself, arrived as they were sent. A library that claims
/// too much may crash: the messages run under a guard against invalid addresses, and a time limit in seconds.
/// Collective; `devices` are this rank's. Asked once for a communicator: the answer is kept with it.
std::string prove_gpu_mpi(const Communicator& comm, const std::vector<Device>& devices, Liar liar = nullptr);
/// The proof itself, never remembered.
std::string try_gpu_mpi(const Communicator& comm, const std::vector<Device>& devices, double limit = gpu_mpi_seconds,
                        Liar liar = nullptr);

/// Why MPI's files cannot be written from device memory, the same on all ranks; empty where what each device wrote into
/// `path`, a file of this rank's own, was found there. That messages are proven says nothing of files: libraries may
/// hand their addresses on to the operating system. Leaves no file. Collective.
std::string prove_mpi_files(const Communicator& comm, const std::vector<Device>& devices, const std::string& path,
                            Liar liar = nullptr);

/// Why the MPI library does not claim to take memory of such devices; empty where it does.
std::string gpu_mpi_claim(Backend backend);

}  // namespace slipstream
