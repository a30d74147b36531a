#pragma once
// NVML's stable C interface; declared here so that its header need not be installed.
#include <dlfcn.h>

namespace slipstream::cuda {

/// The driver's NVML library, if installed. It reports on GPUs without a context, which costs hundreds of megabytes.
class NvmlLibrary {
 public:
  static constexpr int success = 0;

  /// The first call in the process initialises NVML.
  static const NvmlLibrary& get() {
    static const NvmlLibrary library;
    return library;
  }
  bool started() const { return started_; }
  /// Sets a function pointer by name; null if the library lacks it.
  template <class Function>
  void find(Function*& function, const char* name) const {
    function = library_ ? reinterpret_cast<Function*>(dlsym(library_, name)) : nullptr;
  }

 private:
  NvmlLibrary() : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {
    int (*init)() = nullptr;
    find(init, "nvmlInit_v2");
    started_ = init && init() == success;
  }
  void* library_;
  bool started_ = false;
};

}  // namespace slipstream::cuda
