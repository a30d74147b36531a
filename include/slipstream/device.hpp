#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>

namespace slipstream {

/// Backend that runs the kernels: CPU threads (host) or GPUs (cuda). A CUDA build holds both and chooses at run time.
enum class Backend : std::uint8_t { host, cuda };

/// One GPU, or one emulated device of the host backend, as this process numbers them.
struct Device {
  Backend backend = Backend::host;
  int index = 0;
  auto operator<=>(const Device&) const = default;
};

struct DeviceInfo {
  std::string name;
  std::string uuid;              ///< unique name of the device, the same in every process of a node
  std::string bus_id;            ///< PCI address, empty on the host backend
  std::size_t memory_total = 0;  ///< size of the memory in bytes
  std::size_t memory_free = 0;   ///< free memory in bytes
  int processors = 0;            ///< number of multiprocessors, or of cores of the thread pool
};

/// True where this build and this machine can run kernels on the backend (host or cuda).
bool available(Backend backend);
/// Number of devices of this process. The host backend has the number set by set_host_devices (initially 1).
int device_count(Backend backend);
/// Sets how many virtual devices the host backend of this process emulates. Devices in use stay valid.
void set_host_devices(int count);
/// Sets the number of threads that host kernels share in the whole process (0: all cores that the process may run on).
void set_host_threads(int count);
int host_threads();

DeviceInfo info(Device device);
/// True where kernels on `from` may load and store memory of `to` in the same process. Enables peer access.
bool peer_access(Device from, Device to);
/// Waits for all work of all streams of the device. For set-up and tests, never in a step.
void synchronize(Device device);

/// Versions of the driver and of the library below it, as "driver 13.0, runtime 13.0"; empty where there is neither.
std::string driver_versions(Backend backend);

std::string to_string(Device device);
std::string to_string(Backend backend);
Backend backend_from_string(const std::string& name);

}  // namespace slipstream
