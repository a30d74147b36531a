#include "device/cuda/common.hpp"

namespace slipstream::cuda {
namespace {

class CudaGraph final : public Graph::Impl {
 public:
  CudaGraph(Device device, cudaGraph_t graph, cudaStream_t stream) : device_(device), graph_(graph) {
    try {
      check(cudaGraphGetNodes(graph_, nullptr, &nodes_), device_, "counting the work of a capture");
      check(cudaGraphInstantiate(&ready_, graph_, 0), device_, "making a capture ready to replay");
      // Uploads the CUDA graph to the GPU now, because otherwise its first launch would include the upload.
      check(cudaGraphUpload(ready_, stream), device_, "sending a capture to the GPU");
    } catch (...) {
      release();
      throw;
    }
  }
  ~CudaGraph() override {
    unless_ended(device_, [this] { release(); });
  }
  void launch(detail::StreamImpl& stream) override {
    require(stream.device.backend == Backend::cuda, ErrorCode::mismatch,
            "a graph of " + to_string(device_) + " was launched on a stream of " + to_string(stream.device) +
                ": capture it again on that backend");
    require(!stream.capturing(), ErrorCode::wrong_state,
            "a graph was launched on a stream that is being captured: capture the work itself instead");
    const DeviceScope scope(stream.device);
    check(cudaGraphLaunch(ready_, static_cast<cudaStream_t>(stream.native())), stream.device, "replaying a capture");
  }
  std::size_t nodes() const override { return nodes_; }

  /// A graph with a loop node. The loop's body is this graph, followed by the kernel that reads the condition.
  std::shared_ptr<Impl> repeated(const std::shared_ptr<Impl>&, const std::int32_t* again) const override {
    const DeviceScope scope(device_);
    Stream stream(device_);
    cudaGraph_t whole = nullptr;
    check(cudaGraphCreate(&whole, 0), device_, "making a graph");
    try {
      cudaGraphConditionalHandle handle{};
      check(cudaGraphConditionalHandleCreate(&handle, whole, 1, cudaGraphCondAssignDefault), device_,
            "making the condition of a loop in a graph");
      cudaGraphNodeParams loop{};
      loop.type = cudaGraphNodeTypeConditional;
      loop.conditional.handle = handle;
      loop.conditional.type = cudaGraphCondTypeWhile;
      loop.conditional.size = 1;
      cudaGraphNode_t node = nullptr, body = nullptr;
      check(cudaGraphAddNode(&node, whole, nullptr, nullptr, 0, &loop), device_, "adding a loop to a graph");
      const cudaGraph_t inside = loop.conditional.phGraph_out[0];
      check(cudaGraphAddChildGraphNode(&body, inside, nullptr, 0, graph_), device_, "adding the work of a loop");
      add_condition(device_, inside, body, handle, again);
    } catch (...) {
      cudaGraphDestroy(whole);
      throw;
    }
    return make_graph(device_, whole, static_cast<cudaStream_t>(stream.native()));
  }

 private:
  void release() {
    if (ready_) cudaGraphExecDestroy(ready_);
    cudaGraphDestroy(graph_);
    cudaGetLastError();
  }

  Device device_;
  cudaGraph_t graph_;
  cudaGraphExec_t ready_ = nullptr;
  std::size_t nodes_ = 0;
};

}  // namespace

std::shared_ptr<Graph::Impl> make_graph(Device device, cudaGraph_t graph, cudaStream_t stream) {
  const DeviceScope scope(device);
  return std::make_shared<CudaGraph>(device, graph, stream);
}

void keep_with_graph(Device device, cudaStream_t stream, unsigned long long& capture,
                     const std::shared_ptr<void>& kept) {
  const DeviceScope scope(device);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  unsigned long long current = 0;
  cudaGraph_t graph = nullptr;
  check(cudaStreamGetCaptureInfo(stream, &status, &current, &graph), device, "asking for the graph of a capture");
  if (status != cudaStreamCaptureStatusActive || current == capture) return;
  using Kept = std::shared_ptr<void>;
  auto holder = std::make_unique<Kept>(kept);
  cudaUserObject_t object = nullptr;
  check(cudaUserObjectCreate(
            &object, holder.get(), [](void* pointer) { delete static_cast<Kept*>(pointer); }, 1,
            cudaUserObjectNoDestructorSync),
        device, "making an object of a graph");
  holder.release();
  const cudaError_t given = cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove);
  if (given != cudaSuccess) cudaUserObjectRelease(object);
  check(given, device, "giving an object to a graph");
  capture = current;
}

}  // namespace slipstream::cuda
