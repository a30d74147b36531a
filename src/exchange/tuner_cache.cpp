#include "exchange/tuner_cache.hpp"

#include <sstream>

#include <slipstream/build_info.hpp>
#include <slipstream/error.hpp>

#include "exchange/plan.hpp"
#include "machine/hash.hpp"

namespace slipstream {
namespace {

std::string mpi_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  const std::string all(text, static_cast<std::size_t>(length));
  return all.substr(0, all.find_first_of(",\n"));
}

/// Text of the names, counts, positions and links of devices. Equal nodes have equal fingerprints.
std::string fingerprint(const Machine& machine) {
  std::map<std::string, int> names;
  std::string layout;
  for (int d = 0; d < machine.devices(); ++d) {
    const MachineDevice& device = machine.device(d);
    ++names[device.name];
    layout += std::to_string(device.node) + ' ' + std::to_string(device.rank) + ';';
  }
  for (const int kind : machine.links().kind) layout += std::to_string(kind) + ',';
  for (const LinkTable& table : machine.links().within)
    for (const Link& link : table.links) {
      layout += static_cast<char>('a' + static_cast<int>(link.kind));
      layout += link.peer ? '*' : '.';
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
  std::string key = "slipstream " + build_version() + " " + build_commit() + " | " + fingerprint(grid.machine()) +
                    " | plan " + hex(plan_hash(grid, items, options)) + " teams " +
                    std::to_string(options.knobs.teams) + " streams " + to_string(options.knobs.streams) +
                    (options.knobs.sync ? " sync" : "");
  for (char& c : key)
    if (c == '\n') c = ' ';
  return key;
}

std::string to_lines(const Found& found) {
  std::ostringstream text;
  const Knobs& k = found.knobs;
  text << "knobs " << to_string(k.pack) << ' ' << to_string(k.streams) << ' ' << to_string(k.grouping) << ' '
       << to_string(k.mpi) << ' ' << k.sync << ' ' << k.teams << ' ' << k.in_place << ' ' << k.packet_limit << ' '
       << k.chunk << ' ' << k.ring << '\n';
  for (const auto& [number, kind] : found.chosen) {
    const auto reason = found.reasons.find(number);
    text << "class " << number << ' ' << to_string(kind) << ' '
         << (reason == found.reasons.end() ? "measured" : reason->second) << '\n';
  }
  return text.str();
}

std::optional<Found> found_from_lines(const std::string& text) {
  std::istringstream lines(text);
  Found found;
  try {
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string what, name, other, grouping, mpi;
      words >> what;
      if (what == "knobs") {
        Knobs& k = found.knobs;
        words >> name >> other >> grouping >> mpi >> k.sync >> k.teams >> k.in_place >> k.packet_limit >> k.chunk >>
            k.ring;
        k.pack = pack_from_string(name);
        k.streams = lanes_from_string(other);
        k.grouping = grouping_from_string(grouping);
        k.mpi = mpi_calls_from_string(mpi);
      } else {
        ClassNumber number = 0;
        words >> number >> name;
        found.chosen[number] = route_from_string(name);
        std::getline(words >> std::ws, found.reasons[number]);
      }
      if (words.bad() || (words.fail() && !words.eof())) return {};
    }
  } catch (const Error&) {
    return {};  // a file of a build with other routes counts as no result
  }
  return found;
}

}  // namespace slipstream
