#pragma once
// What a tuner found, as text: sent to all ranks, and kept on disk.
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <slipstream/exchange.hpp>

namespace slipstream {

/// The part of ExchangeOptions that measurement fills.
struct Found {
  Knobs knobs;
  std::map<std::pair<int, int>, RouteKind> chosen;
  std::map<std::pair<int, int>, std::string> reasons;
};

/// One line: the machine's devices and links, versions, and the hash of what is exchanged and allowed. Where it is
/// equal, so is the answer.
std::string tuner_key(const Grid& grid, const std::vector<PlannedItem>& items, const ExchangeOptions& options);

/// Lines with a last one that tells whether they are whole, and what they were; nothing where they are not.
std::string sealed(const std::string& lines);
std::optional<std::string> unsealed(const std::string& text);

std::string to_text(const std::string& key, const Found& found);
/// Nothing where the text is damaged, of another form, or of another key.
std::optional<Found> found_from_text(const std::string& key, const std::string& text);

/// The file of a key in a folder.
std::string cache_file(const std::string& folder, const std::string& key);
/// The whole file; nothing where there is none.
std::optional<std::string> read_cache(const std::string& file);
/// Makes the folder, writes beside the file and renames. Empty, or why it could not be written.
std::string write_cache(const std::string& file, const std::string& text);

}  // namespace slipstream
