#include "io/checkpoint_seal.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <slipstream/error.hpp>
#include <sstream>

#include "io/crc32c.hpp"

namespace slipstream {
namespace {

constexpr const char* first_line = "slipstream checkpoint";
constexpr int version = 1;

std::string hex(std::uint32_t sum) {
  char text[16];
  std::snprintf(text, sizeof text, "%08x", sum);
  return text;
}

std::string sum_of(const std::string& text) { return hex(crc32c(0, text.data(), text.size())); }

std::int64_t bytes_of(std::ifstream& file) {
  file.seekg(0, std::ios::end);
  return static_cast<std::int64_t>(file.tellg());
}

/// Checksum of all bytes after the first page of a file, except these ranges, which are sorted.
std::string sum_around(std::ifstream& file, const std::vector<ByteRange>& values, std::int64_t bytes) {
  std::uint32_t sum = 0;
  std::vector<char> some(static_cast<std::size_t>(std::min(bytes, std::int64_t{1} << 20)));
  const auto add = [&](std::int64_t from, std::int64_t to) {
    file.seekg(from);
    while (from < to) {
      const std::int64_t count = std::min<std::int64_t>(to - from, static_cast<std::int64_t>(some.size()));
      file.read(some.data(), count);
      require(file.good(), ErrorCode::io, "it cannot be read");
      sum = crc32c(sum, some.data(), static_cast<std::size_t>(count));
      from += count;
    }
  };
  std::int64_t at = seal_bytes;
  for (const auto& [from, to] : values) {
    add(at, from);
    at = to;
  }
  add(at, bytes);
  return hex(sum);
}

/// Reads the next line "name value" of a checkpoint's first page, and returns the value.
std::string take_line(std::istringstream& text, const std::string& name) {
  std::string line;
  std::getline(text, line);
  require(line.starts_with(name + ' '), ErrorCode::bad_file, "its first page is damaged", {{"problem", "first_page"}});
  return line.substr(name.size() + 1);
}

}  // namespace

void seal_checkpoint(const std::string& path, const std::string& written_by, std::vector<ByteRange> values) {
  std::sort(values.begin(), values.end());
  std::ifstream file(path, std::ios::binary);
  require(file.good(), ErrorCode::io, "'" + path + "' cannot be read after it was made");
  const std::int64_t bytes = bytes_of(file);
  std::ostringstream text;
  text << first_line << "\nversion " << version << "\nwritten_by " << written_by << "\nbytes " << bytes << "\nvalues "
       << values.size();
  for (const auto& [from, to] : values) text << ' ' << from << ' ' << to;
  text << "\nstructure " << sum_around(file, values, bytes) << '\n';
  std::string page = text.str();
  page += "checksum " + sum_of(page) + '\n';
  require(static_cast<std::int64_t>(page.size()) <= seal_bytes, ErrorCode::unsupported,
          "a checkpoint of too many fields: its first page has "
          "no room for the list");
  page.resize(seal_bytes, '\0');
  std::fstream out(path, std::ios::binary | std::ios::in | std::ios::out);
  out.write(page.data(), seal_bytes);
  out.close();
  require(!out.fail(), ErrorCode::io, "writing the first page of '" + path + "'");
}

void check_seal(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  require(file.good(), ErrorCode::io, "it cannot be opened");
  const std::int64_t bytes = bytes_of(file);
  std::string page(seal_bytes, '\0');
  file.seekg(0);
  file.read(page.data(), std::min(bytes, seal_bytes));
  require(page.starts_with(first_line), ErrorCode::bad_file, "it is no checkpoint, or its first page is damaged",
          {{"problem", "first_page"}});
  std::istringstream text(page.substr(page.find('\n') + 1));
  const std::string its_version = take_line(text, "version"), written_by = take_line(text, "written_by");
  require(its_version == std::to_string(version), ErrorCode::version,
          "it is of version " + its_version + ", written by " + written_by + "; this slipstream reads version " +
              std::to_string(version) + ": restart with the one that wrote it",
          {{"given", its_version}, {"needed", version}, {"written_by", written_by}});
  const std::string its_bytes = take_line(text, "bytes");
  std::istringstream ranges(take_line(text, "values"));
  const std::string structure = take_line(text, "structure"), checksum = take_line(text, "checksum");
  const std::size_t end = page.find("\nchecksum ") + 1;
  require(sum_of(page.substr(0, end)) == checksum, ErrorCode::bad_file, "its first page is damaged",
          {{"problem", "first_page"}});
  require(std::to_string(bytes) == its_bytes, ErrorCode::bad_file,
          "it has " + std::to_string(bytes) + " bytes instead of " + its_bytes + ": it is truncated, or was added to",
          {{"problem", "size"}, {"given", bytes}, {"needed", its_bytes}});
  std::size_t count = 0;
  ranges >> count;
  std::vector<ByteRange> values(count);
  for (auto& [from, to] : values) ranges >> from >> to;
  require(sum_around(file, values, bytes) == structure, ErrorCode::bad_file,
          "its structure (all but the values) does not match its "
          "checksum",
          {{"problem", "checksum"}});
}

}  // namespace slipstream
