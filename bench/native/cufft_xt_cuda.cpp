// Loads cufftXt at run time.
#include <cufftXt.h>

#include <algorithm>
#include <chrono>

#include <slipstream/device.hpp>

#include "device/cuda/common.hpp"
#include "fft/cufft.hpp"
#include "native/cufft_xt.hpp"

namespace slipstream::fft {
namespace {

class CufftXt {
  Library library_ = fft::cufft_library();

 public:
  static CufftXt& get() {
    static CufftXt library;
    return library;
  }
  const std::string& missing() const { return library_.missing(); }

  decltype(&cufftCreate) create = library_["cufftCreate"];
  decltype(&cufftDestroy) destroy = library_["cufftDestroy"];
  decltype(&cufftXtSetGPUs) set_gpus = library_["cufftXtSetGPUs"];
  decltype(&cufftMakePlan3d) make_plan_3d = library_["cufftMakePlan3d"];
  decltype(&cufftXtMalloc) allocate = library_["cufftXtMalloc"];
  decltype(&cufftXtFree) free = library_["cufftXtFree"];
  decltype(&cufftXtExecDescriptor) execute = library_["cufftXtExecDescriptor"];
};

/// A plan of cufftXt for a transform on several GPUs, and the array that it transforms.
class SeveralGpus {
 public:
  SeveralGpus(const std::vector<Device>& devices, const Extent& cells, bool forward, cufftType type)
      : devices_(devices), way_(forward ? CUFFT_FORWARD : CUFFT_INVERSE) {
    const CufftXt& cufft = CufftXt::get();
    check_cufft(cufft.create(&plan_), "make a plan of several GPUs");
    try {
      std::vector<int> gpus;
      for (const Device device : devices) gpus.push_back(device.index);
      check_cufft(cufft.set_gpus(plan_, static_cast<int>(gpus.size()), gpus.data()),
                  "use " + std::to_string(gpus.size()) + " GPUs together");
      std::vector<std::size_t> workspace(gpus.size());
      const auto size = [&](std::size_t axis) { return static_cast<int>(cells[axis]); };
      check_cufft(cufft.make_plan_3d(plan_, size(2), size(1), size(0), type, workspace.data()),
                  "plan " + to_string(cells) + " values on several GPUs");
    } catch (...) {
      cufft.destroy(plan_);
      throw;
    }
  }
  ~SeveralGpus() { CufftXt::get().destroy(plan_); }
  SeveralGpus(const SeveralGpus&) = delete;
  SeveralGpus& operator=(const SeveralGpus&) = delete;

  cudaLibXtDesc* zeros() const {
    const CufftXt& cufft = CufftXt::get();
    cudaLibXtDesc* values = nullptr;
    check_cufft(cufft.allocate(plan_, &values, CUFFT_XT_FORMAT_INPLACE), "allocate values on several GPUs");
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      const cuda::DeviceScope scope(devices_[i]);
      cuda::check(cudaMemset(values->descriptor->data[i], 0, values->descriptor->size[i]), devices_[i],
                  "clearing values");
    }
    return values;
  }
  /// Wall-clock seconds of one transform on all GPUs.
  double run(cudaLibXtDesc* values) const {
    for (const Device device : devices_) synchronize(device);
    const auto start = std::chrono::steady_clock::now();
    check_cufft(CufftXt::get().execute(plan_, values, values, way_), "transform on several GPUs");
    for (const Device device : devices_) synchronize(device);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

 private:
  std::vector<Device> devices_;
  int way_;
  cufftHandle plan_ = 0;
};

}  // namespace

std::array<double, 2> cufft_xt_us(const std::vector<Device>& devices, const Extent& cells, DType type, int repeats) {
  require(CufftXt::get().missing().empty(), ErrorCode::unavailable, CufftXt::get().missing());
  const bool real = type == DType::f32 || type == DType::f64, twice = type == DType::f64 || type == DType::c128;
  const cufftType complex = twice ? CUFFT_Z2Z : CUFFT_C2C;
  const SeveralGpus there(devices, cells, true, !real ? complex : twice ? CUFFT_D2Z : CUFFT_R2C);
  const SeveralGpus back(devices, cells, false, !real ? complex : twice ? CUFFT_Z2D : CUFFT_C2R);
  cudaLibXtDesc* const values = there.zeros();
  std::array<std::vector<double>, 2> times;
  try {
    for (int n = -2; n < repeats; ++n) {
      const double forward = there.run(values), backward = back.run(values);
      if (n < 0) continue;
      times[0].push_back(forward);
      times[1].push_back(backward);
    }
  } catch (...) {
    CufftXt::get().free(values);
    throw;
  }
  CufftXt::get().free(values);
  std::array<double, 2> median{};
  for (std::size_t way = 0; way < 2; ++way) {
    std::sort(times[way].begin(), times[way].end());
    median[way] = 1e6 * times[way].at(times[way].size() / 2);
  }
  return median;
}

}  // namespace slipstream::fft
