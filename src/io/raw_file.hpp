#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace slipstream {

/// Reads and writes bytes of an existing file. No call is collective.
class RawFile {
 public:
  RawFile() = default;
  /// Opens a file for reading. Throws Error if it cannot be opened.
  static RawFile to_read(const std::string& path);
  static RawFile to_write(const std::string& path);
  RawFile(RawFile&& other) noexcept : path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)) {}
  RawFile& operator=(RawFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(file_, other.file_);
    return *this;
  }
  ~RawFile();

  std::int64_t size() const;
  void write(std::int64_t at, const void* values, std::size_t bytes);
  /// Reads bytes from an offset. Throws Error, also if the file ends early.
  void read(std::int64_t at, void* values, std::size_t bytes) const;
  /// Syncs the file to disk and closes it.
  void finish();

 private:
  RawFile(std::string path, int file) : path_(std::move(path)), file_(file) {}
  std::string path_;
  int file_ = -1;
};

}  // namespace slipstream
