#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <slipstream/communicator.hpp>
#include <slipstream/state.hpp>

namespace slipstream {

/// Where values are staged until they are written.
enum class Snapshot : std::uint8_t {
  pinned,  ///< values are staged in pinned memory, as large as the State, or as `staging_bytes`
  /// Staging in device memory: a copy takes hundredths of the time of one to the host. A thread fetches the values
  /// through two pinned buffers, piece by piece, while the steps go on. Values that do not fit go to pinned memory.
  device,
  /// Staging in device memory, from which MPI-IO writes the values. A thread copies them to the
  /// host instead, as with `device`, if MPI does not take device memory or a field interleaves its components.
  mpi
};
std::string to_string(Snapshot snapshot);
Snapshot snapshot_from_string(const std::string& name);

/// Checkpoints: a State in one HDF5 file. A run continues from it with the same bits, on any number of ranks, devices
/// and blocks, in any layout.
///
/// The file, checkpoint-<step>.h5, holds
///   first 4096 bytes   lines of text: version, who wrote it, size, checksum of all that is not values
///   /                  step, time, extent (cells of the first field's grid), written_by: attributes
///   /case, /notes      texts of the caller, as bytes with a zero behind them
///   /fields/F          the values of field F, piece after piece, each piece as [component][z][y][x] of its box;
///                      attributes: components and, where it is not that of /, extent
///   /pieces/F          a row per piece: its box of global cells (low x, y, z, then high), its first value in /fields/F
///   /checksums/F       per piece the CRC-32C of that row and the values
/// and nothing that depends on the clock: the same State, cut into the same blocks, gives the same bytes.
///
/// It is written under a hidden name in the same folder, forced to the disk and renamed. So a file of the final name is
/// complete, whenever the run is killed. Rank 0 lays the file out with HDF5 and tells where each piece belongs. Every
/// rank then writes its own pieces with plain writes (pwrite), so a serial HDF5 is sufficient. The folder must be on a
/// file system that all ranks share. Pieces start on multiples of 4096 bytes, so ranks do not share pages.
///
/// Blocking: begin() blocks while rank 0 lays out the file and reserves its space on the disk. It also blocks while the
/// values are copied to their staging memory (Snapshot). Where pinned memory is smaller than the State, this includes
/// the time until the thread has written the values that do not fit. Then the steps go on, and a thread of each rank
/// computes checksums and writes. This thread calls neither MPI nor HDF5, so MPI_THREAD_FUNNELED is enough. poll()
/// never blocks.
class Checkpoints {
 public:
  struct Options {
    std::string folder;                                 ///< folder of the checkpoints; made where it is missing
    int keep = 2;                                       ///< number of complete checkpoints to keep, the newest ones
    std::string case_text;                              ///< text of the case file, which a restart reads
    std::int64_t piece_bytes = std::int64_t{16} << 20;  ///< largest piece that is written at once, in bytes
    /// largest amount of pinned memory per device in bytes; two pieces are always allowed
    std::int64_t staging_bytes = std::int64_t{4} << 30;
    /// where values are staged; `device` keeps as much device memory as the State has
    Snapshot snapshot = Snapshot::pinned;
  };

  /// Outcome of a checkpoint.
  struct Result {
    std::int64_t step = 0;
    std::string path;   ///< path of the complete file; empty where there is none
    std::string error;  ///< why there is no file; earlier checkpoints are unchanged
  };

  /// Collective. Removes incomplete files of killed processes of rank 0's host. Throws where the folder cannot be
  /// written to.
  Checkpoints(const Communicator& comm, Options options);
  /// Waits for the thread that writes. A checkpoint on which finish() was not called is lost.
  ~Checkpoints();
  Checkpoints(Checkpoints&&) noexcept;

  /// Begins a checkpoint of the State, whose devices must be idle, and finishes the one before. Collective. A full disk
  /// is not an exception but a Result with an error.
  void begin(const State& state, const std::string& notes = {});
  /// Completes a checkpoint once all ranks have written it. Call it between steps. Not collective.
  void poll();
  /// Waits until the checkpoint under way is complete, or has failed. Collective.
  void finish();

  /// Results of checkpoints that ended since the last call, in order. Rank 0 knows them when it has polled, all ranks
  /// after finish().
  std::vector<Result> take_results();
  /// Why the last checkpoint with Snapshot::mpi was not written by MPI-IO; empty where it was.
  std::string mpi_refusal() const;
  /// Path of the newest complete checkpoint; empty if none. Rank 0 knows it after poll(), all ranks after finish().
  const std::string& last() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Everything in a checkpoint except the values.
struct CheckpointInfo {
  std::string path;
  std::int64_t step = 0;
  double time = 0;
  Extent extent{0, 0, 0};  ///< extent of the grid of all fields that have no extent of their own
  std::vector<std::string> fields;
  std::string case_text, notes, written_by;
};

/// Reads all but the values. Not collective. Throws Error that names the file, and the dataset where one is at fault.
/// The file may be missing, truncated, damaged, of another version, or not a checkpoint.
CheckpointInfo read_checkpoint_info(const std::string& path);

/// Complete checkpoints in a folder, oldest first. Not collective.
std::vector<std::string> checkpoints_in(const std::string& folder);

/// Sets the fields, time and step of a State from a checkpoint. Collective; the devices must be idle. Every rank reads
/// and checks the pieces that overlap its blocks. A field that the checkpoint lacks is translated from another one
/// where the State says how; the caller decides whether that is allowed. Throws one Error on all ranks where the file
/// is damaged or lacks a field. Also throws where a field has another type, number of components or grid, or a fixed
/// field differs. The fields are undefined then.
void restore(const Communicator& comm, const std::string& path, State& state);

/// Tells whether to end a run before its last step, because of a signal or the clock. The object itself ends nothing.
class StopRequest {
 public:
  /// From now on SIGTERM, SIGINT, SIGHUP and SIGUSR1 are requests to stop, until destruction. The second signal of a
  /// kind has its usual effect, except SIGUSR1. SIGINT and SIGHUP stay ignored where they are. At most one object at a
  /// time. `wall_clock_limit`: seconds from now; 0: none.
  explicit StopRequest(const Communicator& comm, double wall_clock_limit = 0);
  ~StopRequest();
  StopRequest(const StopRequest&) = delete;
  StopRequest& operator=(const StopRequest&) = delete;

  /// The reason to stop now; empty: go on. It is the same on all ranks, whichever of them got the signal. Collective.
  std::string reason() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace slipstream
