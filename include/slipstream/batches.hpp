#pragma once
// Arrays in host memory that devices work on batch by batch: the memory of a device holds four batches, or six where
// they move between devices, whatever the arrays take. The pipeline is the asynchronous one of Ravikumar, Appelhans &
// Yeung (OpenPOWER ADG workshop, 2018).
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

/// How rows of a batch travel.
enum class RowCopies : std::uint8_t {
  measured,  ///< pitched or kernel, each way, for each length of rows, by the time beside pitched copies the other way;
             ///< on the host pitched
  single,    ///< a copy for each row
  pitched,   ///< one copy of all rows, by the copy engine
  kernel,    ///< a few thread blocks load or store them, without the copy engine ("zero-copy")
  mixed      ///< pitched to the device, kernel back
};
std::string to_string(RowCopies copies);
RowCopies row_copies_from_string(const std::string& name);

/// Rows in pinned host memory, by bytes; in a buffer of the device they begin at `at`.
struct HostRows {
  void* host = nullptr;
  Pitch pitch;
  Extent extent{0, 0, 0};  ///< bytes of a row, rows, planes
  std::int64_t at = 0;
  Pitch in_buffer = {};  ///< zeros: without gaps
};

/// Queues one way of rows, in or out; `measured` counts as pitched here.
void copy_rows(Stream& stream, const HostRows& rows, std::byte* buffer, bool in, RowCopies copies);

/// The rows that a batch reads, and those that it leaves; `landed` are those of the buffer in which a BatchMove puts
/// values of other devices. Rows of one list must not overlap.
struct HostBatch {
  std::vector<HostRows> in, out, landed;
};

struct BatchOptions {
  RowCopies copies = RowCopies::measured;
  bool synchronous = false;  ///< a batch comes when the one before it has left: no copy beside work, to compare with
  Trace* trace = nullptr;    ///< records copies and work; must outlive the batches
};

/// Values that go between devices when a batch has been worked on: from Batches::leaving(), of all devices, to
/// Batches::landing().
class BatchMove {
 public:
  virtual ~BatchMove() = default;
  /// On streams of this rank's devices, one each. A batch ends before the next one begins.
  virtual void begin(std::int64_t batch, std::vector<Stream>& streams) = 0;
  virtual void end(std::int64_t batch, std::vector<Stream>& streams) = 0;
};

/// Buffers and streams of the devices of this rank. While a batch is worked on, the next one comes and the one before
/// it leaves; with a BatchMove that one goes to other devices first. Events order all of it; the host waits only where
/// the move does.
class Batches {
 public:
  /// In, work on, out, and one more: work goes from one buffer to another.
  static constexpr int buffers = 4;
  /// Where batches move: two each to come, to go to other devices, and to land.
  static constexpr int buffers_of_moves = 6;

  /// Throws Error where a device has no room.
  Batches(const std::vector<Device>& devices, std::int64_t bytes_of_buffer, BatchOptions options = {},
          bool moves = false);

  /// The batch's rows on a device of this rank; none where it has no part of it. Asked for on the host, in the order of
  /// the batches.
  using Rows = std::function<HostBatch(std::size_t device, std::int64_t batch)>;
  /// Queues what becomes of `from`, which may be changed, and shall lie in `to`.
  using Work =
      std::function<void(Stream& stream, std::size_t device, std::int64_t batch, std::byte* from, std::byte* to)>;
  /// Runs after what `streams` hold, one a device; what is queued on them afterwards runs when all batches have left. A
  /// batch may write what it or an earlier one has read, and nothing that a later one reads. With a move all ranks have
  /// equally many batches, and `landed` may be written while the next batch is read. Throws Error where rows do not fit
  /// a buffer.
  void run(std::vector<Stream>& streams, std::int64_t count, const Rows& rows, const Work& work,
           BatchMove* move = nullptr);

  /// Where a moving batch lies before and behind its move. With `parity` = batch % 2.
  std::byte* leaving(std::size_t device, int parity) const { return at(device, 2 + parity); }
  std::byte* landing(std::size_t device, int parity) const { return at(device, 4 + parity); }
  /// Bytes of each device.
  std::int64_t bytes() const { return number_ * size_; }
  std::int64_t bytes_of_buffer() const { return size_; }
  /// Bytes that have come and left since the object was made, on all devices of this rank.
  std::int64_t moved() const { return moved_; }
  /// Lengths of rows and what was chosen for them, with microseconds of a batch.
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
  int number_;  // of buffers
  BatchOptions options_;
  std::vector<OfDevice> devices_;
  std::vector<Stream> between_;  // of moves
  std::vector<Choice> choices_;
  std::int64_t moved_ = 0;
};

}  // namespace slipstream
