#pragma once
// The most host memory that a piece of work holds at once.
#include <cstdint>
#include <fstream>
#include <string>

namespace slipstream::python {

/// Pages of this process, as Linux counts them, from when this is made.
class HostMemory {
 public:
  HostMemory() {
    std::ofstream reset("/proc/self/clear_refs");  // the highest number of pages is from now on (proc(5))
    reset << "5" << std::flush;
    known_ = reset.good();
    before_ = status("VmRSS:");
  }
  /// Most bytes at once beyond those at the beginning; below 0 where the system does not tell.
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
