#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <slipstream/communicator.hpp>
#include <slipstream/state.hpp>

namespace slipstream {

/// Where values wait until they are written.
enum class Snapshot : std::uint8_t {
  pinned,  ///< in pinned memory, as large as the State or `staging_bytes`
  /// In the device's own memory, to which a copy takes hundredths of the time; from there the thread fetches them piece
  /// by piece through two pinned buffers while the steps go on. What does not fit goes to pinned memory.
  device,
  /// In the device's own memory, from where MPI's files take them: where MPI proves that it takes device memory and the
  /// layout is soa, else as `device`.
  mpi
};
std::string to_string(Snapshot snapshot);
Snapshot snapshot_from_string(const std::string& name);

/// Checkpoints: a State in one HDF5 file, from which a run goes on with the same bits, on any number of ranks, devices
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
/// and nothing that depends on the clock: the same State, cut alike, gives the same bytes.
///
/// It is made under a hidden name in the same folder, forced to the disk and renamed: a file of the final name is
/// complete, whenever the run is killed. HDF5 lays the file out, on rank 0, and says where each piece belongs; every
/// rank then writes its own pieces to their places with plain writes (pwrite), so a serial HDF5 does as well as a
/// parallel one. The folder must be on a file system that all ranks share; pieces start on multiples of 4096 bytes, so
/// ranks do not share pages.
///
/// What blocks. begin() blocks while rank 0 lays out the file and claims its place on the disk, and while the values
/// are copied to where they wait (Snapshot); where pinned memory is smaller than the State, also until the thread
/// has written what does not fit. Then the steps go on, and a thread of each rank computes checksums and writes. This
/// thread calls neither MPI nor HDF5, so MPI_THREAD_FUNNELED is enough. poll() never blocks.
class Checkpoints {
 public:
  struct Options {
    std::string folder;                                  ///< made where it is missing
    int keep = 2;                                        ///< complete checkpoints that stay: the newest
    std::string case_text;                               ///< what the run is of, for whoever restarts
    std::int64_t piece_bytes = std::int64_t{16} << 20;   ///< largest piece
    std::int64_t staging_bytes = std::int64_t{4} << 30;  ///< most pinned memory per device; two pieces at least
    Snapshot snapshot = Snapshot::pinned;                ///< device: keeps as much device memory as the State has
  };

  /// How a checkpoint that was begun has ended.
  struct Result {
    std::int64_t step = 0;
    std::string path;   ///< of the complete file; empty where there is none
    std::string error;  ///< why there is none: earlier checkpoints are as they were
  };

  /// Collective. Removes what killed processes of rank 0's host left incomplete. Throws where the folder cannot be
  /// written to.
  Checkpoints(const Communicator& comm, Options options);
  /// Waits for the thread. What finish() was not called for is lost.
  ~Checkpoints();
  Checkpoints(Checkpoints&&) noexcept;

  /// Begins a checkpoint of the State, whose devices must be idle; finishes the one before. Collective. A disk that is
  /// too full is no exception but a Result with an error.
  void begin(const State& state, const std::string& notes = {});
  /// Completes a checkpoint that all ranks have written: call it between steps. Not collective.
  void poll();
  /// Waits until the checkpoint under way is complete, or has failed. Collective.
  void finish();

  /// Checkpoints that ended since the last call, in order. Rank 0 knows them when it has polled, all ranks after
  /// finish().
  std::vector<Result> take_results();
  /// Why values of Snapshot::mpi did not go by MPI in the last checkpoint; empty where they did.
  std::string mpi_refusal() const;
  /// The newest complete checkpoint of this folder; empty where there is none. As take_results().
  const std::string& last() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// What a checkpoint says of itself.
struct CheckpointInfo {
  std::string path;
  std::int64_t step = 0;
  double time = 0;
  Extent extent{0, 0, 0};  ///< of the grid of all fields that say no other
  std::vector<std::string> fields;
  std::string case_text, notes, written_by;
};

/// Reads all but the values; of one process. Throws Error naming the file, and the dataset where one is at fault: not
/// there, truncated, not a checkpoint, of another version, damaged.
CheckpointInfo read_checkpoint_info(const std::string& path);

/// Complete checkpoints in a folder, oldest first; of one process.
std::vector<std::string> checkpoints_in(const std::string& folder);

/// Sets the fields, time and step of a State from a checkpoint. Collective; the devices must be idle. Every rank reads
/// and checks the pieces that overlap its blocks. A field that the checkpoint lacks is translated from another one
/// where the State says how; whether that may be is the caller's to decide. Throws one Error on all ranks where the
/// file is damaged, lacks a field, or has it with another type, number of components or grid, or where a fixed field
/// differs; the fields are then of no use.
void restore(const Communicator& comm, const std::string& path, State& state);

/// Whether to end a run before its last step: a signal, or the clock. Ends nothing itself.
class StopRequest {
 public:
  /// From now on SIGTERM, SIGINT, SIGHUP and SIGUSR1 are requests, until destruction; the second of a kind, but for
  /// SIGUSR1, does what it would have done without. SIGINT and SIGHUP stay ignored where they are. At most one object
  /// at a time. `wall_clock_limit`: seconds from now; 0: none.
  explicit StopRequest(const Communicator& comm, double wall_clock_limit = 0);
  ~StopRequest();
  StopRequest(const StopRequest&) = delete;
  StopRequest& operator=(const StopRequest&) = delete;

  /// Why to stop now, the same on all ranks, whichever of them was asked; empty: go on. Collective.
  std::string reason() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace slipstream
