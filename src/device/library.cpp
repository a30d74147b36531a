#include "device/library.hpp"

#include <dlfcn.h>

#include <cstdlib>

namespace slipstream {

Library::Library(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    handle_ = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_) {
      missing_.clear();
      return;
    }
    const char* why = dlerror();
    missing_ += (missing_.empty() ? "no library could be loaded: " : "; ") + std::string(why ? why : file);
  }
}

LibrarySymbol Library::find(const char* name) const { return {handle_ ? dlsym(handle_, name) : nullptr}; }

LibrarySymbol Library::operator[](const char* name) {
  const LibrarySymbol found = find(name);
  if (!found.address && missing_.empty()) missing_ = std::string("the library is too old: it has no ") + name;
  return found;
}

std::vector<std::string> library_files(const char* variable, const std::string& name, const std::string& built) {
  if (const char* given = std::getenv(variable); given && *given) return {given};
  if (built.empty()) return {name};
  return {name, built};
}

}  // namespace slipstream
