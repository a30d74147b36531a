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

/// Takes pieces of fields from devices, through pinned memory, to their places in files, on a thread of its own that
/// calls neither MPI nor HDF5. With Snapshot::device they wait on their devices, and the thread fetches one while it
/// writes another.
class PieceWriter {
 public:
  /// `staging_bytes`: most pinned memory per device; two pieces at least.
  explicit PieceWriter(std::int64_t staging_bytes, Snapshot snapshot = Snapshot::pinned);
  /// Waits for what was given.
  ~PieceWriter();

  /// The file of the pieces that follow; made already. Throws where it cannot be opened.
  void open(const std::string& path);
  /// Takes a piece of a local block. Waits for staging memory where there is no more, else only queues copies.
  void add(const Field& field, std::int64_t block, const CheckpointArray& array, std::size_t piece);
  /// Waits until all pieces have left their devices, which may then change them.
  void snapshot();
  /// Keeps the reason why the file cannot become complete, unless it is empty or there is one already.
  void fail(const std::string& why);
  /// No more pieces: the thread then forces the file to the disk.
  void end();

  /// True once what was begun with open() has ended, one way or the other.
  bool done();
  void wait();
  /// Why the file is not complete; empty where it is. When done().
  std::string failure();

 private:
  using Place = std::pair<Backend, int>;
  struct Slot {
    Buffer<std::byte> memory;
    bool free = true;
    bool on_device = false;
  };
  /// What a device's values pass through on their way to the file; of the thread.
  struct Passage {
    explicit Passage(Device device) : stream(device) {}
    Stream stream;
    std::array<Buffer<std::byte>, 2> memory;  // at most two pieces are on their way
    std::size_t next = 0;
  };
  struct Job {
    Slot* slot;
    Event copied;
    CheckpointArray array;  // without its pieces
    CheckpointPiece piece;
    std::size_t number;
    bool interleaved;  // components beside each other
    std::size_t bytes;
    const std::byte* values;  // for the thread, once copied
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
  std::map<Place, Passage> passages_;  // of the thread
  std::vector<std::byte> ordered_;     // of the thread
  RawFile file_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  bool ending_ = false, done_ = true, quit_ = false;
  std::string failure_;
  std::thread thread_;
};

}  // namespace slipstream
