#pragma once
// What was measured once, and is read from disk the next time.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <slipstream/communicator.hpp>
#include <slipstream/tuner.hpp>

namespace slipstream {

/// One answer, in lines, in a file of its own: the form that it is written in, the key under which it is true, the
/// lines, and a last one that tells whether all of it is whole. A file that is damaged, or of another form, is noted
/// and counts as none; where nothing can be written, a note says so.
class Remembered {
 public:
  struct Kind {
    std::string what;  ///< in notes and errors: "the width of the rim"
    std::string form;  ///< names what is written and how, with a number that grows: "slipstream tuned rim 3"
  };

  /// `key`: one line with all that the answer depends on; see tuner_key().
  Remembered(Kind kind, std::string key, const TuneOptions& how);

  /// Whether the lines can be read; keeps what it reads.
  using Read = std::function<bool(const std::string& lines)>;

  /// On one rank: nothing, too, where `how` says to measure again.
  std::optional<std::string> recall(const Read& read);
  void keep(const std::string& lines);

  /// Collective: what rank 0 recalls under its key, else what `measure` tells it, which it keeps; `measure` is asked on
  /// all ranks. `read` gets the answer last, on every rank. Empty lines are no answer: they are neither kept nor read.
  void find(const Communicator& comm, const Read& read, const std::function<std::string()>& measure);

  bool measured() const { return measured_; }           ///< by find(), rather than recalled
  const std::string& file() const { return file_; }     ///< empty where there is no folder for it
  std::vector<std::string>& notes() { return notes_; }  ///< on the ranks that read and write

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
