#include <slipstream/device/cuda/function.hpp>

#include <algorithm>
#include <map>
#include <mutex>
#include <vector>

#include "device/cuda/common.hpp"

namespace slipstream::cuda {
namespace {

/// Whether queued work has ended. Queries in relaxed capture mode, because another thread's capture may forbid queries.
template <class Query>
bool over(const Query& query, Device device, const char* what) {
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  cudaThreadExchangeStreamCaptureMode(&mode);
  const cudaError_t status = query();
  cudaThreadExchangeStreamCaptureMode(&mode);
  if (status == cudaErrorNotReady) {
    cudaGetLastError();
    return false;
  }
  check(status, device, what);
  return true;
}

class CudaEvent final : public detail::EventImpl {
 public:
  CudaEvent(Device device, bool timing) : EventImpl(device) {
    const DeviceScope scope(device);
    check(cudaEventCreateWithFlags(&event_, timing ? cudaEventDefault : cudaEventDisableTiming), device,
          "creating an event");
  }
  ~CudaEvent() override {
    unless_ended(device, [this] { cudaEventDestroy(event_); });
  }
  bool done() const override {
    const DeviceScope scope(device);
    return over([this] { return cudaEventQuery(event_); }, device, "asking for an event");
  }
  void synchronize() const override {
    const DeviceScope scope(device);
    check(cudaEventSynchronize(event_), device, "waiting for an event");
  }
  double milliseconds_since(const EventImpl& earlier) const override;
  cudaEvent_t native() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

const CudaEvent& cuda_event(const detail::EventImpl& event, Device user) {
  require(event.device.backend == Backend::cuda, ErrorCode::mismatch,
          "an event of " + to_string(event.device) + " was given to " + to_string(user) + ": backends cannot mix");
  return static_cast<const CudaEvent&>(event);
}

double CudaEvent::milliseconds_since(const EventImpl& earlier) const {
  const DeviceScope scope(device);
  float time = 0;
  check(cudaEventElapsedTime(&time, cuda_event(earlier, device).event_, event_), device,
        "timing between two events (both need timing = true, one device, and finished work)");
  return time;
}

struct Region {
  char* to;
  Pitch to_pitch;
  const char* from;
  Pitch from_pitch;
  std::size_t width, rows, planes;
};

/// The same copy of a box with the fewest rows and planes: parts that are contiguous on both sides become one row.
Region folded(Region r) {
  for (int axis = 0; axis < 2; ++axis) {
    const bool contiguous = r.width == r.to_pitch.row && r.width == r.from_pitch.row;
    if (!contiguous && r.rows > 1) break;
    r.width *= r.rows;
    r.rows = r.planes;
    r.planes = 1;
    r.to_pitch.row = r.to_pitch.plane;
    r.from_pitch.row = r.from_pitch.plane;
  }
  return r;
}

/// Objects used by captures in progress, by the capture's number, because only the driver knows which streams joined a
/// capture. Entries of captures that a caller ended are dropped, too.
class CapturedUses {
 public:
  using Uses = std::vector<std::shared_ptr<const detail::Used>>;
  static CapturedUses& all() {
    static auto& one = *new CapturedUses;  // never destroyed: static streams still use it at exit
    return one;
  }
  void add(unsigned long long capture, const std::shared_ptr<const detail::Used>& used) {
    const std::lock_guard lock(mutex_);
    std::erase_if(uses_, [](const auto& entry) {
      return std::all_of(entry.second.begin(), entry.second.end(), [](const auto& u) { return u->over.load(); });
    });
    Uses& mine = uses_[capture];
    if (std::find(mine.begin(), mine.end(), used) == mine.end()) mine.push_back(used);
  }
  Uses taken(unsigned long long capture) {
    const std::lock_guard lock(mutex_);
    const auto found = uses_.extract(capture);
    return found ? std::move(found.mapped()) : Uses{};
  }

 private:
  std::mutex mutex_;
  std::map<unsigned long long, Uses> uses_;
};

class CudaStream final : public detail::StreamImpl {
 public:
  CudaStream(Device device, cudaStream_t stream, bool owned) : StreamImpl(device), stream_(stream), owned_(owned) {
    int most = 0;
    check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxPitch, device.index), device, "reading the largest pitch");
    most_pitch_ = static_cast<std::size_t>(most);
    check(cudaStreamGetId(stream_, &id_), device, "asking for the number of a stream");
  }
  ~CudaStream() override {
    if (!owned_) return;
    unless_ended(device, [this] {
      cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
      if (cudaStreamIsCapturing(stream_, &status) == cudaSuccess && status != cudaStreamCaptureStatusNone) {
        cudaGraph_t abandoned = nullptr;
        if (cudaStreamEndCapture(stream_, &abandoned) == cudaSuccess && abandoned) cudaGraphDestroy(abandoned);
      }
      cudaStreamSynchronize(stream_);
      cudaStreamDestroy(stream_);
      cudaGetLastError();
    });
  }
  void* native() const override { return stream_; }
  std::uint64_t id() const override { return id_; }
  void record(std::shared_ptr<detail::EventImpl> event) override {
    const CudaEvent& point = cuda_event(*event, device);
    require(event->device == device, ErrorCode::mismatch,
            "an event of " + to_string(event->device) + " was recorded in a stream of " + to_string(device) +
                ": make the event on the stream's device");
    const DeviceScope scope(device);
    check(cudaEventRecord(point.native(), stream_), device, "recording an event");
  }

  void wait(std::shared_ptr<detail::EventImpl> event) override {
    const CudaEvent& point = cuda_event(*event, device);
    const DeviceScope scope(device);
    check(cudaStreamWaitEvent(stream_, point.native(), cudaEventWaitDefault), device,
          "making a stream wait for an event");
  }

  void synchronize() override {
    const DeviceScope scope(device);
    check(cudaStreamSynchronize(stream_), device, "waiting for a stream, or work that was queued in it,");
  }

  bool idle() const override {
    const DeviceScope scope(device);
    return over([this] { return cudaStreamQuery(stream_); }, device,
                "asking for a stream, or work that was queued in it,");
  }

  void begin_capture() override {
    const DeviceScope scope(device);
    check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed), device, "beginning a capture");
  }

  bool capturing() const override {
    const DeviceScope scope(device);
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    check(cudaStreamIsCapturing(stream_, &status), device, "asking whether a stream is captured");
    return status != cudaStreamCaptureStatusNone;
  }

  void uses(const std::shared_ptr<const detail::Used>& used) override {
    const DeviceScope scope(device);
    if (const unsigned long long number = capture_number()) CapturedUses::all().add(number, used);
  }

  std::shared_ptr<Graph::Impl> end_capture() override {
    const DeviceScope scope(device);
    const auto used = CapturedUses::all().taken(capture_number());
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(stream_, &graph), device,
          "ending a capture (every stream that joined it must be joined to this one by an event)");
    auto made = make_graph(device, graph, stream_);
    made->used = used;
    return made;
  }

  void copy(void* to, const void* from, std::size_t bytes) override {
    const DeviceScope scope(device);
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_), device, "copying memory");
  }

  void fill(void* to, unsigned char value, std::size_t bytes) override {
    const DeviceScope scope(device);
    check(cudaMemsetAsync(to, value, bytes, stream_), device, "filling memory");
  }

  void copy_box(void* to, Pitch to_pitch, const void* from, Pitch from_pitch, const Extent& extent) override {
    if (extent[0] <= 0 || extent[1] <= 0 || extent[2] <= 0) return;
    const DeviceScope scope(device);
    const Region region = folded({static_cast<char*>(to), to_pitch, static_cast<const char*>(from), from_pitch,
                                  static_cast<std::size_t>(extent[0]), static_cast<std::size_t>(extent[1]),
                                  static_cast<std::size_t>(extent[2])});
    if (copy_planes(region)) return;
    for (std::size_t plane = 0; plane < region.planes; ++plane) {
      copy_rows(region.to + plane * region.to_pitch.plane, region.to_pitch.row,
                region.from + plane * region.from_pitch.plane, region.from_pitch.row, region.width, region.rows);
    }
  }

 private:
  /// Number of the capture that the stream takes part in; 0: none.
  unsigned long long capture_number() const {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    unsigned long long number = 0;
    check(cudaStreamGetCaptureInfo(stream_, &status, &number), device, "asking for the number of a capture");
    return status == cudaStreamCaptureStatusActive ? number : 0;
  }

  void copy_rows(char* to, std::size_t to_pitch, const char* from, std::size_t from_pitch, std::size_t width,
                 std::size_t rows) {
    const auto fits = [&](std::size_t pitch) { return pitch >= width && pitch <= most_pitch_; };
    if (rows > 1 && fits(to_pitch) && fits(from_pitch)) {
      check(cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, rows, cudaMemcpyDefault, stream_), device,
            "copying rows of memory");
      return;
    }
    for (std::size_t row = 0; row < rows; ++row) copy(to + row * to_pitch, from + row * from_pitch, width);
  }

  /// Copies all planes of a box in one call, if the copy engine supports the pitches: planes of whole rows.
  bool copy_planes(const Region& region) {
    const auto fits = [&](const Pitch& pitch) {
      return pitch.row >= region.width && pitch.row <= most_pitch_ && pitch.plane % pitch.row == 0 &&
             pitch.plane / pitch.row >= region.rows;
    };
    if (region.planes == 1 || !fits(region.to_pitch) || !fits(region.from_pitch)) return false;
    const auto pitched = [&](const char* pointer, const Pitch& pitch) {
      return cudaPitchedPtr{const_cast<char*>(pointer), pitch.row, region.width, pitch.plane / pitch.row};
    };
    cudaMemcpy3DParms parameters{};
    parameters.srcPtr = pitched(region.from, region.from_pitch);
    parameters.dstPtr = pitched(region.to, region.to_pitch);
    parameters.extent = {region.width, region.rows, region.planes};
    parameters.kind = cudaMemcpyDefault;
    check(cudaMemcpy3DAsync(&parameters, stream_), device, "copying a box of memory");
    return true;
  }

  cudaStream_t stream_;
  unsigned long long id_ = 0;
  bool owned_;
  std::size_t most_pitch_ = 0;
};

}  // namespace

std::unique_ptr<detail::StreamImpl> CudaBackend::make_stream(Device device, Priority priority) {
  const DeviceScope scope(device);
  load_functions(device);
  int lowest = 0, highest = 0;
  check(cudaDeviceGetStreamPriorityRange(&lowest, &highest), device, "reading the priorities of streams");
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, priority == Priority::high ? highest : lowest),
        device, "creating a stream");
  return std::make_unique<CudaStream>(device, stream, true);
}

// A wrapped stream is neither waited for nor destroyed, because its owner may be capturing.
std::unique_ptr<detail::StreamImpl> CudaBackend::wrap_stream(Device device, void* native) {
  const DeviceScope scope(device);
  load_functions(device);
  return std::make_unique<CudaStream>(device, static_cast<cudaStream_t>(native), false);
}

std::shared_ptr<detail::EventImpl> CudaBackend::make_event(Device device, bool timing) {
  return std::make_shared<CudaEvent>(device, timing);
}

}  // namespace slipstream::cuda
