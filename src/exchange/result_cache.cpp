#include "exchange/result_cache.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include <slipstream/error.hpp>

#include "machine/hash.hpp"

namespace slipstream {
namespace {

/// Appends a line with a checksum, which reveals truncated or changed files.
std::string with_checksum(const std::string& lines) { return lines + "end " + hex(hash_of(lines)) + "\n"; }

/// Creates the folder, writes a temporary file and renames it, so that no reader sees a partial file. Returns the
/// reason for a failure, else an empty string.
std::string write_file(const std::string& file, const std::string& text) {
  std::error_code failed;
  std::filesystem::create_directories(std::filesystem::path(file).parent_path(), failed);
  const std::string beside = file + "." + std::to_string(::getpid());
  {
    std::ofstream out(beside, std::ios::binary);
    out << text << std::flush;
    if (!out) failed = std::make_error_code(std::errc::io_error);
  }
  if (!failed) std::filesystem::rename(beside, file, failed);
  if (!failed) return "";
  std::error_code ignored;
  std::filesystem::remove(beside, ignored);
  return file + ": " + failed.message();
}

}  // namespace

std::string tuner_cache_folder() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value ? value : "");
  };
  // The XDG Base Directory Specification says that relative paths in its variables are ignored.
  if (const std::string xdg = variable("XDG_CACHE_HOME"); xdg.starts_with('/')) return xdg + "/slipstream";
  if (const std::string home = variable("HOME"); !home.empty()) return home + "/.cache/slipstream";
  return "";
}

ResultCache::ResultCache(Kind kind, std::string key, const TuneOptions& how)
    : kind_(std::move(kind)),
      key_(std::move(key)),
      folder_(how.cache_folder.empty() ? tuner_cache_folder() : how.cache_folder),
      again_(how.retune) {
  name_file();
}

void ResultCache::name_file() { file_ = folder_.empty() ? "" : folder_ + "/tuned-" + hex(hash_of(key_)) + ".txt"; }

std::string ResultCache::text(const std::string& lines) const {
  return with_checksum(kind_.form + "\nkey " + key_ + "\n" + lines);
}

std::optional<std::string> ResultCache::lines_of(const std::string& text) const {
  const std::string before = kind_.form + "\nkey " + key_ + "\n";
  const std::size_t end = text.rfind("end ");
  if (end == std::string::npos || end < before.size() || !text.starts_with(before)) return {};
  if (text != with_checksum(text.substr(0, end))) return {};
  return text.substr(before.size(), end - before.size());
}

std::optional<std::string> ResultCache::recall(const Read& read) {
  if (again_ || file_.empty()) return {};
  std::ifstream in(file_, std::ios::binary);
  if (!in) return {};
  const std::string text(std::istreambuf_iterator<char>(in), {});
  if (const auto lines = lines_of(text); lines && read(*lines)) return lines;
  notes_.push_back("warning: " + file_ + " is damaged; measured again");
  return {};
}

void ResultCache::keep(const std::string& lines) {
  const std::string failure = file_.empty() ? "neither XDG_CACHE_HOME nor HOME is set" : write_file(file_, text(lines));
  if (!failure.empty()) notes_.push_back(kind_.what + " is not kept: " + failure);
}

void ResultCache::find(const Communicator& comm, const Read& read, const std::function<std::string()>& measure) {
  // Ranks may have different names for the machine, so all ranks use the key of rank 0.
  key_ = comm.broadcast(key_, 0);
  name_file();
  std::string lines;
  if (comm.rank() == 0) lines = recall(read).value_or("");
  lines = comm.broadcast(lines, 0);
  measured_ = lines.empty();
  if (measured_) {
    lines = comm.broadcast(measure(), 0);
    if (lines.empty()) return;
    if (comm.rank() == 0) keep(lines);
  }
  require(read(lines), ErrorCode::version,
          "the ranks do not agree on what was tuned, " + kind_.what + ": they run different builds of slipstream");
}

}  // namespace slipstream
