#pragma once
// NVML's stable C interface; declared here so that its header need not be installed.
#include "device/library.hpp"

namespace slipstream::cuda {

/// The driver's NVML library, if installed. It reports on GPUs without a context, which costs hundreds of megabytes.
class NvmlLibrary {
 public:
  static constexpr int success = 0;

  /// The library, loaded once. The first call in the process initialises NVML.
  static const NvmlLibrary& get() {
    static const NvmlLibrary library;
    return library;
  }
  bool started() const { return started_; }
  /// Address of a function of the library; null if the library lacks it.
  LibrarySymbol operator[](const char* name) const { return library_.find(name); }

 private:
  NvmlLibrary() {
    int (*const init)() = library_.find("nvmlInit_v2");
    started_ = init && init() == success;
  }
  Library library_{{"libnvidia-ml.so.1"}};
  bool started_ = false;
};

}  // namespace slipstream::cuda
