#pragma once
// Arrays in host memory that a device works on batch by batch: the memory of the device holds four batches, whatever
// the arrays take. The pipeline is the asynchronous one of Ravikumar, Appelhans & Yeung (OpenPOWER ADG workshop, 2018).
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <slipstream/buffer.hpp>
#include <slipstream/stream.hpp>

namespace slipstream {

/// How rows of a batch travel.
enum class RowCopies : std::uint8_t {
  measured,  ///< pitched or kernel by the time of a batch, each way, for each length of rows; on the host pitched
  single,    ///< a copy for each row
  pitched,   ///< one copy of all rows, by the copy engine
  kernel,    ///< a few thread blocks load or store them, without the copy engine ("zero-copy")
  mixed      ///< pitched to the device, kernel back
};
std::string to_string(RowCopies copies);
RowCopies row_copies_from_string(const std::string& name);

/// Rows in pinned host memory, by bytes; in a buffer of the device they lie without gaps from `at` on.
struct HostRows {
  void* host = nullptr;
  Pitch pitch;
  Extent extent{0, 0, 0};  ///< bytes of a row, rows, planes
  std::int64_t at = 0;
};

/// The rows that a batch reads, and those that it leaves. Rows of one list must not overlap.
struct HostBatch {
  std::vector<HostRows> in, out;
};

struct BatchOptions {
  RowCopies copies = RowCopies::measured;
  bool synchronous = false;  ///< a batch comes when the one before it has left: no copy beside work, to compare with
};

/// Buffers of one device and two streams beside the caller's: while a batch is worked on, the next one comes and the
/// one before it leaves. Events order all of it; the host does not wait.
class Batches {
 public:
  /// In, work on, out, and one more: work goes from one buffer to another.
  static constexpr int buffers = 4;

  /// Throws Error where the device has no room.
  Batches(Device device, std::int64_t bytes_of_buffer, BatchOptions options = {});

  /// The batch's rows. Asked for on the host, in the order of the batches.
  using Rows = std::function<HostBatch(std::int64_t batch)>;
  /// Queues what becomes of `from`, which may be changed, and shall lie in `to`.
  using Work = std::function<void(Stream& stream, std::int64_t batch, std::byte* from, std::byte* to)>;
  /// Runs after what `stream` holds; what is queued on it afterwards runs when all batches have left. A batch may write
  /// what it or an earlier one has read, and nothing that a later one reads. Throws Error where rows do not fit a
  /// buffer.
  void run(Stream& stream, std::int64_t count, const Rows& rows, const Work& work);

  /// Bytes of the device.
  std::int64_t bytes() const { return buffers * size_; }
  std::int64_t bytes_of_buffer() const { return size_; }
  /// Bytes that have come and left since the object was made.
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
  void move(Stream& stream, const HostRows& rows, std::byte* buffer, bool in);
  RowCopies chosen(const HostRows& rows, std::byte* buffer, bool in);

  Device device_;
  std::int64_t size_;
  BatchOptions options_;
  std::array<Buffer<std::byte>, buffers> memory_;
  Stream in_, out_;
  Event start_;
  std::array<Event, buffers> arrived_, worked_, left_;
  std::vector<Choice> choices_;
  std::int64_t moved_ = 0;
};

}  // namespace slipstream
