#include "io/raw_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <slipstream/error.hpp>

namespace slipstream {

RawFile RawFile::to_read(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  require(file >= 0, errno == ENOENT ? ErrorCode::not_found : ErrorCode::io,
          "opening '" + path + "' to read it: " + std::strerror(errno), {{"file", path}});
  return {path, file};
}

RawFile RawFile::to_write(const std::string& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  require(file >= 0, ErrorCode::io,
          "opening '" + path + "' to write into it: " + std::strerror(errno) +
              "; the folder must be one that all ranks share",
          {{"file", path}});
  return {path, file};
}

RawFile::~RawFile() {
  if (file_ >= 0) ::close(file_);
}

std::int64_t RawFile::size() const {
  struct stat found {};
  require(::fstat(file_, &found) == 0, ErrorCode::io, "reading the size of '" + path_ + "': " + std::strerror(errno),
          {{"file", path_}});
  return found.st_size;
}

void RawFile::write(std::int64_t at, const void* values, std::size_t bytes) {
  const auto* from = static_cast<const char*>(values);
  while (bytes > 0) {
    const ssize_t written = ::pwrite(file_, from, bytes, at);
    if (written < 0 && errno == EINTR) continue;
    require(written > 0, ErrorCode::io, "writing '" + path_ + "': " + std::strerror(written < 0 ? errno : ENOSPC),
            {{"file", path_}});
    from += written;
    at += written;
    bytes -= static_cast<std::size_t>(written);
  }
}

void RawFile::read(std::int64_t at, void* values, std::size_t bytes) const {
  auto* to = static_cast<char*>(values);
  while (bytes > 0) {
    const ssize_t found = ::pread(file_, to, bytes, at);
    if (found < 0 && errno == EINTR) continue;
    require(found >= 0, ErrorCode::io, "reading '" + path_ + "': " + std::strerror(errno), {{"file", path_}});
    require(found > 0, ErrorCode::bad_file, "'" + path_ + "' ends too early", {{"file", path_}, {"problem", "length"}});
    to += found;
    at += found;
    bytes -= static_cast<std::size_t>(found);
  }
}

void RawFile::finish() {
  const int failure = ::fsync(file_) == 0 || errno == EINVAL ? 0 : errno;
  const bool closed = ::close(std::exchange(file_, -1)) == 0;
  require(failure == 0 && closed, ErrorCode::io,
          "forcing '" + path_ + "' to the disk: " + std::strerror(failure != 0 ? failure : errno), {{"file", path_}});
}

}  // namespace slipstream
