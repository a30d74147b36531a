#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <slipstream/box.hpp>
#include <slipstream/device.hpp>

namespace slipstream {

class Graph;
namespace detail {
class StreamImpl;
class EventImpl;

/// A resource that a recorded graph uses, such as an exchange. If it ends before the graph, its memory is freed.
struct Used {
  explicit Used(std::string what) : what(std::move(what)) {}
  const std::string what;
  std::atomic<bool> over{false};
};
}  // namespace detail

/// An event: a recorded point in the work of a stream. Copies refer to the same point.
class Event {
 public:
  /// Makes an event on a device. `timing`: milliseconds() can measure the device time between two such events.
  explicit Event(Device device, bool timing = false);
  /// True once the work recorded before the event is done (or nothing was ever recorded).
  bool done() const;
  /// Blocks the host until the work recorded before the event is done.
  void synchronize() const;
  const std::shared_ptr<detail::EventImpl>& impl() const { return impl_; }

 private:
  std::shared_ptr<detail::EventImpl> impl_;
};

/// Device time between two recorded timing events.
double milliseconds(const Event& from, const Event& to);

enum class Priority : unsigned char { normal, high };

/// An in-order queue of device work. Streams of one device run concurrently. Move-only.
class Stream {
 public:
  explicit Stream(Device device, Priority priority = Priority::normal);
  ~Stream();  ///< waits until the work of the stream has ended
  Stream(Stream&&) noexcept;
  Stream& operator=(Stream&&) noexcept;

  /// Wraps an existing queue (CUDA: a cudaStream_t); the caller keeps owning it.
  static Stream wrap(Device device, void* native);

  Device device() const;
  void* native() const;  ///< the cudaStream_t, or null on the host backend
  /// Identifies the queue: Streams that wrap the same queue have the same id, and it is never reused.
  std::uint64_t id() const;

  void record(const Event& event);
  /// Work queued after this call runs after the event's latest recording.
  void wait(const Event& event);
  /// Blocks the host until all queued work is done; throws the errors of that work.
  void synchronize();
  bool idle() const;

  /// From here to end_capture, work is recorded instead of run. Other streams join by waiting for an event.
  void begin_capture();
  Graph end_capture();
  bool capturing() const;
  /// During capture: declares that the recorded work uses `used`. The graph refuses to launch once used->over is set.
  void uses(const std::shared_ptr<const detail::Used>& used);

  detail::StreamImpl& impl() const { return *impl_; }

 private:
  explicit Stream(std::unique_ptr<detail::StreamImpl> impl);
  std::unique_ptr<detail::StreamImpl> impl_;
};

/// A graph of recorded device work. A replay on a stream runs after the work already queued there.
class Graph {
 public:
  struct Impl {
    virtual ~Impl() = default;
    virtual void launch(detail::StreamImpl& stream) = 0;
    virtual std::size_t nodes() const = 0;
    virtual std::shared_ptr<Impl> repeated(const std::shared_ptr<Impl>& self, const std::int32_t* again) const = 0;
    std::vector<std::shared_ptr<const detail::Used>> used;  ///< resources that the recorded work uses
  };
  explicit Graph(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  /// Replays the graph on a stream; throws Error instead if the graph uses an exchange or an all-reduce that has ended.
  void launch(Stream& stream) const;
  std::size_t nodes() const { return impl_->nodes(); }
  const std::shared_ptr<Impl>& impl() const { return impl_; }

 private:
  std::shared_ptr<Impl> impl_;
};

/// A graph that replays `body` until *again, in the device's memory, is 0 after a replay; at least once. The body may
/// only contain kernels, copies and fills of that device.
Graph repeat(Device device, const Graph& body, const std::int32_t* again);

/// Copies bytes between any two memories that the stream's device can access, by the copy engine where there is one.
void copy(Stream& stream, void* to, const void* from, std::size_t bytes);
/// Sets bytes of memory to a value, in stream order.
void fill(Stream& stream, void* to, unsigned char value, std::size_t bytes);

/// Pitches of a box in memory: bytes from one row of cells to the next, and from one plane to the next.
struct Pitch {
  std::size_t row = 0;
  std::size_t plane = 0;
};
/// Copies extent = {bytes per row, rows, planes} between pitched memories.
void copy_box(Stream& stream, void* to, Pitch to_pitch, const void* from, Pitch from_pitch, const Extent& extent);

}  // namespace slipstream
