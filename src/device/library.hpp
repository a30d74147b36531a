#pragma once
// Libraries that are loaded at run time, so that the program also starts without them.
#include <string>
#include <vector>

namespace slipstream {

/// Address of a function of a library; null if there is none. It converts to a pointer to any function.
struct LibrarySymbol {
  void* address = nullptr;
  template <class Function>
  operator Function*() const {
    return reinterpret_cast<Function*>(address);
  }
};

class Library {
 public:
  /// Loads the first of the files that can be loaded. If none can, `missing()` tells which files were tried.
  explicit Library(const std::vector<std::string>& files);
  const std::string& missing() const { return missing_; }

  LibrarySymbol find(const char* name) const;
  /// Address of a function of the library. If the library lacks it, `missing()` names it.
  LibrarySymbol operator[](const char* name);

 private:
  void* handle_ = nullptr;  // loaded library; never unloaded: its threads may run until the process ends
  std::string missing_;
};

/// Candidate files in order: the file that the environment variable names (if set), the plain name, and the path that
/// the build found. The system's loader searches for the plain name.
std::vector<std::string> library_files(const char* variable, const std::string& name, const std::string& built);

}  // namespace slipstream
