#pragma once
// Libraries that are found when the program runs, so that one that was built with them starts without them too.
#include <string>
#include <vector>

namespace slipstream {

class Library {
 public:
  /// Tries the files in order. `missing()` says what was looked for where none can be loaded.
  explicit Library(const std::vector<std::string>& files);
  bool loaded() const { return handle_ != nullptr; }
  const std::string& missing() const { return missing_; }

  /// Remembers a function that the library lacks as missing.
  template <class Function>
  void find(Function*& function, const char* name) {
    function = reinterpret_cast<Function*>(symbol(name));
  }

 private:
  void* symbol(const char* name);

  void* handle_ = nullptr;  // never closed: its threads may run until the process ends
  std::string missing_;
};

/// The file that a variable of the environment names (where it does), one that the system's loader finds by its name,
/// one where the build found it.
std::vector<std::string> library_files(const char* variable, const std::string& name, const std::string& built);

}  // namespace slipstream
