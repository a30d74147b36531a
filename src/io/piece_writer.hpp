#pragma once
#include <array>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <slipstream/buffer.hpp>
#include <slipstream/checkpoint.hpp>
#include <slipstream/field.hpp>
#include <slipstream/stream.hpp>

#include "io/checkpoint_file.hpp"
#include "io/raw_file.hpp"

namespace slipstream {

/// Writes pieces of fields to files through pinned memory. Its thread calls neither MPI nor HDF5. With Snapshot::device
/// the pieces are staged in device memory, and the thread fetches one while it writes another.
class PieceWriter {
 public:
  /// `staging_bytes`: limit of pinned memory per device; at least two pieces are allowed.
  explicit PieceWriter(std::int64_t staging_bytes, Snapshot snapshot = Snapshot::pinned);
  /// Waits until all parts of fields that were passed to add() are in the file.
  ~PieceWriter();

  /// Opens an existing file, to which later calls of add() write parts of fields. Throws if that fails.
  void open(const std::string& path);
  /// Adds a piece of a local block. This queues copies and returns, unless it must wait for staging memory.
  void add(const Field& field, std::int64_t block, const CheckpointArray& array, std::size_t piece);
  /// Waits until all pieces have been copied; the fields may change afterwards.
  void snapshot();
  /// Stores a reason why the file cannot be completed, if it is the first one that is not empty.
  void fail(const std::string& why);
  /// Declares that no more pieces follow; the thread then syncs the file to disk.
  void end();

  /// True once the file opened by open() is complete or has failed.
  bool done();
  void wait();
  /// Reason why the file is incomplete; empty on success. Valid after done().
  std::string failure();

 private:
  using Place = std::pair<Backend, int>;
  struct Slot {
    Buffer<std::byte> memory;
    bool free = true;
    bool on_device = false;
  };
  /// Buffers and stream by which the thread brings pieces from a device to the file.
  struct Passage {
    explicit Passage(Device device) : stream(device) {}
    Stream stream;
    std::array<Buffer<std::byte>, 2> memory;  // pinned memory of at most two pieces
    std::size_t next = 0;
  };
  struct Job {
    Slot* slot;
    Event copied;
    CheckpointArray array;  // dataset in the checkpoint file to which these values of a block are written
    CheckpointPiece piece;
    std::size_t number;
    bool interleaved;  // whether values have the order [cell][component] instead of [component][cell]
    std::size_t bytes;
    const std::byte* values;  // values of the piece, complete once `copied` has passed
  };
  Slot* acquire(Device device, std::size_t bytes);
  Slot* acquire_on_device(Device device, std::size_t bytes);
  void release(Slot* slot);
  Stream& stream_on(Device device);
  void work();
  void start_fetching(Job& job);
  void write(const Job& job);

  std::int64_t staging_bytes_;
  Snapshot snapshot_;
  std::list<std::pair<Device, Stream>> streams_;
  std::map<Place, std::list<Slot>> slots_, device_slots_;
  std::map<Place, Passage> passages_;  // buffers by device; used by the writer's thread only
  std::vector<std::byte> ordered_;     // a piece's values in the order of the file; used by the writer's thread only
  RawFile file_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  bool ending_ = false, done_ = true, quit_ = false;
  std::string failure_;
  std::thread thread_;
};

}  // namespace slipstream
