#pragma once
// Out-of-core pipeline: arrays in host memory that devices work on batch by batch. The memory of a device holds four
// batches, whatever the size of the arrays. It holds six where batches move between devices. The pipeline is the
// asynchronous one of Ravikumar, Appelhans & Yeung (OpenPOWER ADG workshop, 2018).
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <slipstream/buffer.hpp>
#include <slipstream/stream.hpp>

namespace slipstream {

class Trace;

/// Ways to copy the rows of a batch between host and device.
enum class RowCopies : std::uint8_t {
  measured,  ///< whichever is faster, a copy engine (`pitched`) or thread blocks (`kernel`), timed for each direction
             ///< and row length while a copy engine works in the other direction. On the host backend: `pitched`
  single,    ///< each row of a batch is transferred between host and device by a copy of its own
  pitched,   ///< one call copies all rows of a batch by the copy engine (cudaMemcpy2D)
  kernel,    ///< a few thread blocks copy the array's rows by loads or stores to host memory ("zero-copy")
  mixed      ///< rows to the device as `pitched` (copy engine), rows back to the host as `kernel` (thread blocks)
};
std::string to_string(RowCopies copies);
RowCopies row_copies_from_string(const std::string& name);

/// Rows of an array in pinned host memory, in bytes. `at`: offset of the first row's copy in a device buffer.
struct HostRows {
  void* host = nullptr;
  Pitch pitch;
  Extent extent{0, 0, 0};  ///< size of the box to copy: bytes per array row, rows per plane, number of planes
  std::int64_t at = 0;
  Pitch in_buffer = {};  ///< strides of rows and planes in the buffer; zeros: no gaps
};

/// Queues a copy of array rows from pinned host memory to a device (if `in`) or back, by the given copy method.
void copy_rows(Stream& stream, const HostRows& rows, std::byte* buffer, bool in, RowCopies copies);

/// The rows that a batch reads (`in`) and writes (`out`). `received` are the rows of the buffer that receives a
/// BatchMove's values from other devices. Rows of one list must not overlap.
struct HostBatch {
  std::vector<HostRows> in, out, received;
};

struct BatchOptions {
  RowCopies copies = RowCopies::measured;
  /// whether a batch is copied in only after the one before was copied out: no copy overlaps work, for comparison
  bool synchronous = false;
  Trace* trace = nullptr;  ///< timeline that records copies and work; must outlive the batches
};

/// Moves the values of a batch between devices after the work on it, from Batches::send_buffer() to
/// Batches::receive_buffer().
class BatchMove {
 public:
  virtual ~BatchMove() = default;
  /// Starts to move a batch between devices. streams[i] is on device i of this rank. end() precedes the next begin().
  virtual void begin(std::int64_t batch, std::vector<Stream>& streams) = 0;
  virtual void end(std::int64_t batch, std::vector<Stream>& streams) = 0;
};

/// Buffers and streams of the devices of this rank. While a batch is worked on, the next one comes and the one before
/// it leaves. With a BatchMove that one goes to other devices first. Events order all copies and work; the host waits
/// only where the move does.
class Batches {
 public:
  /// Number of buffers: one batch arrives, one leaves, and work reads one buffer and writes another.
  static constexpr int buffers = 4;
  /// Number of buffers with a BatchMove: two each to arrive, to go to other devices, and to receive from them.
  static constexpr int buffers_of_moves = 6;

  /// Allocates the buffers on all devices. Throws Error if a device has too little memory.
  Batches(const std::vector<Device>& devices, std::int64_t bytes_of_buffer, BatchOptions options = {},
          bool moves = false);

  /// Function that returns the rows of host arrays that a device of this rank reads and writes in one batch of an
  /// out-of-core pass; none if it has no share. It is called on the host, in the order of the batches.
  using Rows = std::function<HostBatch(std::size_t device, std::int64_t batch)>;
  /// Function that queues the computation on a batch. It reads buffer `from`, which it may change, and writes to `to`.
  using Work =
      std::function<void(Stream& stream, std::size_t device, std::int64_t batch, std::byte* from, std::byte* to)>;
  /// Runs `count` batches after the work already queued on `streams`, one stream per device. Work queued on these later
  /// runs when all batches have been copied back. A batch may write rows that it or an earlier one has read, but no
  /// rows that a later one reads. With `move` (values exchanged between devices) all ranks need equally many batches.
  /// The rows `received` may then be written while the next batch is read. Throws Error if rows do not fit a buffer.
  void run(std::vector<Stream>& streams, std::int64_t count, const Rows& rows, const Work& work,
           BatchMove* move = nullptr);

  /// Buffers of a batch, from which and to which a BatchMove moves its values. `parity` is batch % 2.
  std::byte* send_buffer(std::size_t device, int parity) const { return at(device, 2 + parity); }
  std::byte* receive_buffer(std::size_t device, int parity) const { return at(device, 4 + parity); }
  /// Bytes of the buffers on each device.
  std::int64_t bytes() const { return number_ * size_; }
  std::int64_t bytes_of_buffer() const { return size_; }
  /// Bytes copied between host and devices since construction, on all devices of this rank.
  std::int64_t moved() const { return moved_; }
  /// Text: device buffers, and for each length of rows how they are copied to and from the host, with measured times.
  std::string describe() const;

 private:
  struct Choice {
    std::int64_t row = 0, bytes = 0;
    bool in = false;
    RowCopies copies = RowCopies::pitched;
    double pitched_us = 0, kernel_us = 0;
  };
  struct OfDevice {
    explicit OfDevice(Device device);
    std::vector<Buffer<std::byte>> memory;
    Stream in, out;
    Event start;
    std::array<Event, buffers> arrived, worked, moved, left;
  };
  std::byte* at(std::size_t device, int buffer) const {
    return devices_[device].memory[static_cast<std::size_t>(buffer)].data();
  }
  void move(OfDevice& device, const HostRows& rows, std::byte* buffer, bool in);
  RowCopies chosen(OfDevice& device, const HostRows& rows, std::byte* buffer, bool in);

  std::int64_t size_;
  int number_;  // number of device buffers that hold batches on their way from and to host memory, on each device
  BatchOptions options_;
  std::vector<OfDevice> devices_;
  std::vector<Stream> between_;  // streams of the moves between devices
  std::vector<Choice> choices_;
  std::int64_t moved_ = 0;
};

}  // namespace slipstream
