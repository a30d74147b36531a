#pragma once
// Peak memory of the host that a piece of work needs.
#include <cstdint>
#include <fstream>
#include <string>

namespace slipstream::python {

/// Counts the pages of host memory that this process uses (Linux), from construction on.
class HostMemory {
 public:
  HostMemory() {
    std::ofstream reset("/proc/self/clear_refs");  // resets the peak memory of the process (see proc(5))
    reset << "5" << std::flush;
    known_ = reset.good();
    before_ = status("VmRSS:");
  }
  /// Peak bytes of host memory beyond those at construction; negative if the system does not report them.
  double peak() const { return known_ && before_ > 0 ? static_cast<double>(status("VmHWM:") - before_) : -1; }

 private:
  static std::int64_t status(const std::string& key) {
    std::ifstream file("/proc/self/status");
    for (std::string word; file >> word;)
      if (std::int64_t kilobytes = 0; word == key && file >> kilobytes) return 1024 * kilobytes;
    return 0;
  }
  bool known_ = false;
  std::int64_t before_ = 0;
};

}  // namespace slipstream::python
