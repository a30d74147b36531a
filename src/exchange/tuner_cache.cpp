#include "exchange/tuner_cache.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <slipstream/build_info.hpp>
#include <slipstream/error.hpp>
#include <slipstream/tuner.hpp>

#include "exchange/plan.hpp"
#include "machine/hash.hpp"

namespace slipstream {
namespace {

constexpr const char* header = "slipstream tuned exchange 5";

std::string hex(std::uint64_t value) {
  std::ostringstream text;
  text << std::hex << value;
  return text.str();
}

std::uint64_t hash_of(const std::string& text) {
  Hash hash;
  hash.add(text);
  return hash.value();
}

std::string mpi_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  const std::string all(text, static_cast<std::size_t>(length));
  return all.substr(0, all.find_first_of(",\n"));
}

/// Names, counts, places and links, but nothing that tells two equal nodes apart.
std::string fingerprint(const Machine& machine) {
  std::map<std::string, int> names;
  std::string layout;
  for (int d = 0; d < machine.devices(); ++d) {
    const MachineDevice& device = machine.device(d);
    ++names[device.name];
    layout += std::to_string(device.node) + ' ' + std::to_string(device.rank) + ';';
    for (int e = 0; e < machine.devices(); ++e) {
      const Link& link = machine.link(d, e);
      layout += static_cast<char>('a' + static_cast<int>(link.kind));
      layout += link.peer ? '*' : '.';
    }
  }
  std::string text;
  for (const auto& [name, count] : names) text += std::to_string(count) + " x " + name + ", ";
  text += std::to_string(machine.nodes()) + " nodes, " + std::to_string(machine.ranks()) + " ranks, links " +
          hex(hash_of(layout));
  const std::string driver = machine.devices() ? driver_versions(machine.device(0).local.backend) : "";
  return text + " | " + driver + " | CUDA " + build_cuda() + " | " + mpi_version();
}

}  // namespace

std::string tuner_key(const Grid& grid, const std::vector<PlannedItem>& items, const ExchangeOptions& options) {
  ExchangeOptions asked = options;
  asked.chosen.clear();
  std::string key = "slipstream " + build_version() + " " + build_commit() + " | " + fingerprint(grid.machine()) +
                    " | plan " + hex(plan_hash(grid, items, asked)) + " teams " + std::to_string(options.knobs.teams) +
                    " streams " + to_string(options.knobs.streams) + (options.knobs.sync ? " sync" : "");
  for (char& c : key)
    if (c == '\n') c = ' ';
  return key;
}

std::string sealed(const std::string& lines) { return lines + "end " + hex(hash_of(lines)) + "\n"; }

std::optional<std::string> unsealed(const std::string& text) {
  const std::size_t end = text.rfind("end ");
  if (end == std::string::npos || text != sealed(text.substr(0, end))) return {};
  return text.substr(0, end);
}

std::string to_text(const std::string& key, const Found& found) {
  std::ostringstream text;
  const Knobs& k = found.knobs;
  text << header << "\nkey " << key << "\nknobs " << to_string(k.pack) << ' ' << to_string(k.streams) << ' '
       << to_string(k.grouping) << ' ' << to_string(k.mpi) << ' ' << k.sync << ' ' << k.teams << ' ' << k.in_place
       << ' ' << k.sealed << ' ' << k.chunk << ' ' << k.ring << '\n';
  for (const auto& [pair, kind] : found.chosen) {
    const auto reason = found.reasons.find(pair);
    text << "pair " << pair.first << ' ' << pair.second << ' ' << to_string(kind) << ' '
         << (reason == found.reasons.end() ? "measured" : reason->second) << '\n';
  }
  return sealed(text.str());
}

std::optional<Found> found_from_text(const std::string& key, const std::string& text) {
  const std::optional<std::string> whole = unsealed(text);
  if (!whole) return {};
  std::istringstream lines(*whole);
  std::string line;
  if (!std::getline(lines, line) || line != header) return {};
  if (!std::getline(lines, line) || line != "key " + key) return {};
  Found found;
  try {
    while (std::getline(lines, line)) {
      std::istringstream words(line);
      std::string what, name, other, grouping, mpi;
      words >> what;
      if (what == "knobs") {
        Knobs& k = found.knobs;
        words >> name >> other >> grouping >> mpi >> k.sync >> k.teams >> k.in_place >> k.sealed >> k.chunk >> k.ring;
        k.pack = pack_from_string(name);
        k.streams = lanes_from_string(other);
        k.grouping = grouping_from_string(grouping);
        k.mpi = mpi_calls_from_string(mpi);
      } else {
        std::pair<int, int> pair;
        words >> pair.first >> pair.second >> name;
        found.chosen[pair] = route_from_string(name);
        std::getline(words >> std::ws, found.reasons[pair]);
      }
      if (words.bad() || (words.fail() && !words.eof())) return {};
    }
  } catch (const Error&) {
    return {};  // of a build that has other routes
  }
  return found;
}

std::string tuner_cache_folder() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value ? value : "");
  };
  // Relative paths are to be ignored (XDG Base Directory Specification).
  if (const std::string xdg = variable("XDG_CACHE_HOME"); xdg.starts_with('/')) return xdg + "/slipstream";
  if (const std::string home = variable("HOME"); !home.empty()) return home + "/.cache/slipstream";
  return "";
}

std::string cache_file(const std::string& folder, const std::string& key) {
  return folder + "/tuned-" + hex(hash_of(key)) + ".txt";
}

std::optional<std::string> read_cache(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return {};
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string write_cache(const std::string& file, const std::string& text) {
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
  return "what was measured could not be kept in " + file + ": " + failed.message();
}

}  // namespace slipstream
