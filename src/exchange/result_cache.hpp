#pragma once
// Cache of measured results on disk.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <slipstream/communicator.hpp>
#include <slipstream/tuner.hpp>

namespace slipstream {

/// One result in a file of its own: format, key, lines, and a checksum. A damaged file or another format counts as
/// missing, with a note. A note also tells if the file cannot be written.
class ResultCache {
 public:
  struct Kind {
    std::string what;  ///< name of the result in notes and errors: "the width of the boundary region"
    std::string form;  ///< name of the file's format with a version: "slipstream tuned rim 3"
  };

  /// Cache of one result. `key`: one line with everything on which the result depends; see tuner_key().
  ResultCache(Kind kind, std::string key, const TuneOptions& how);

  /// Function that parses the cache file's lines and takes the cached result from them; false: they cannot be parsed.
  using Read = std::function<bool(const std::string& lines)>;

  /// Reads the file; on one rank only. Returns nothing if `how` says to measure again.
  std::optional<std::string> recall(const Read& read);
  void keep(const std::string& lines);

  /// Rank 0 reads the file under its key. Without a result, all ranks call `measure`, and rank 0 stores its own result.
  /// Then `read` gets the result on every rank. Empty lines count as no result: they are neither stored nor read.
  /// Collective.
  void find(const Communicator& comm, const Read& read, const std::function<std::string()>& measure);

  bool measured() const { return measured_; }           ///< whether find() has measured instead of reading the file
  const std::string& file() const { return file_; }     ///< path of the file; empty if there is no folder for it
  std::vector<std::string>& notes() { return notes_; }  ///< problems with the file, on the ranks that read and write it

 private:
  std::string text(const std::string& lines) const;
  std::optional<std::string> lines_of(const std::string& text) const;
  void name_file();

  Kind kind_;
  std::string key_, folder_, file_;
  bool again_, measured_ = false;
  std::vector<std::string> notes_;
};

}  // namespace slipstream
