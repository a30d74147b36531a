// Transforms of lines by cuFFT, loaded at run time. All plans of a device share the caller's workspace.
#include <cufft.h>

#include <slipstream/buffer.hpp>
#include <slipstream/error.hpp>

#include "device/cuda/common.hpp"
#include "device/library.hpp"
#include "fft/cufft.hpp"

namespace slipstream::fft {

Library cufft_library() {
  return Library(library_files("SLIPSTREAM_CUFFT_FILE", "libcufft.so." + std::to_string(CUFFT_VER_MAJOR),
                               SLIPSTREAM_CUFFT_LIBRARY));
}

void check_cufft(int result, const std::string& what) {
  if (result == CUFFT_ALLOC_FAILED) throw OutOfMemory("cuFFT could not " + what + ": the GPU's memory is full");
  if (result != CUFFT_SUCCESS)
    throw Error(ErrorCode::unavailable,
                "cuFFT could not " + what + ": result " + std::to_string(result) + " of enum cufftResult",
                {{"library", "cuFFT"}, {"result", result}});
}

namespace {

class Cufft {
  Library library_ = cufft_library();

 public:
  static Cufft& get() {
    static Cufft library;
    return library;
  }
  const std::string& missing() const { return library_.missing(); }

  decltype(&cufftCreate) create = library_["cufftCreate"];
  decltype(&cufftDestroy) destroy = library_["cufftDestroy"];
  decltype(&cufftSetAutoAllocation) set_auto_allocation = library_["cufftSetAutoAllocation"];
  decltype(&cufftMakePlanMany64) make_plan = library_["cufftMakePlanMany64"];
  decltype(&cufftSetWorkArea) set_work_area = library_["cufftSetWorkArea"];
  decltype(&cufftSetStream) set_stream = library_["cufftSetStream"];
  decltype(&cufftExecC2C) c2c = library_["cufftExecC2C"];
  decltype(&cufftExecR2C) r2c = library_["cufftExecR2C"];
  decltype(&cufftExecC2R) c2r = library_["cufftExecC2R"];
  decltype(&cufftExecZ2Z) z2z = library_["cufftExecZ2Z"];
  decltype(&cufftExecD2Z) d2z = library_["cufftExecD2Z"];
  decltype(&cufftExecZ2D) z2d = library_["cufftExecZ2D"];
};

cufftType type_of(const LineBatch& batch) {
  if (batch.kind == Kind::real_to_complex) return batch.twice ? CUFFT_D2Z : CUFFT_R2C;
  if (batch.kind == Kind::complex_to_real) return batch.twice ? CUFFT_Z2D : CUFFT_C2R;
  return batch.twice ? CUFFT_Z2Z : CUFFT_C2C;
}

/// Array extents (inembed, onembed) for cuFFT's transforms of several axes: it ignores the first; the last is a row's.
std::vector<long long> embedding(const LineBatch& batch, const Side& side) {
  std::vector<long long> lengths(batch.sizes.begin(), batch.sizes.end());
  if (lengths.size() > 1) lengths.back() = side.row;
  return lengths;
}

class CufftLines final : public Lines {
 public:
  CufftLines(Device device, const LineBatch& batch) : device_(device), batch_(batch) {
    require(Cufft::get().missing().empty(), ErrorCode::unavailable, Cufft::get().missing());
    const Cufft& cufft = Cufft::get();
    const cuda::DeviceScope scope(device);
    check_cufft(cufft.create(&plan_), "make a plan");
    try {
      check_cufft(cufft.set_auto_allocation(plan_, 0), "leave the workspace to its caller");
      std::vector<long long> sizes(batch.sizes.begin(), batch.sizes.end()), in = embedding(batch, batch.from),
                                                                            out = embedding(batch, batch.to);
      check_cufft(cufft.make_plan(plan_, static_cast<int>(sizes.size()), sizes.data(), in.data(), batch.from.stride,
                                  batch.from.distance, out.data(), batch.to.stride, batch.to.distance, type_of(batch),
                                  batch.count, &workspace_),
                  "plan " + std::to_string(batch.count) + " transforms of " + std::to_string(sizes.back()) + " values");
    } catch (...) {
      cufft.destroy(plan_);
      throw;
    }
    // Some components start at an odd multiple of a real number, an address that cuFFT refuses. They go through a copy.
    const Side& side = batch.kind == Kind::complex_to_real ? batch.to : batch.from;
    if (is_real() && side.distance * batch.count % 2 != 0)
      aligned_ = Buffer<std::byte>(device, static_cast<std::size_t>(side.distance * batch.count) * word());
  }
  ~CufftLines() override {
    try {
      const cuda::DeviceScope scope(device_);
      Cufft::get().destroy(plan_);
    } catch (const Error&) {
      // After a device failure its context may not be usable, so the plan is left to the end of the process.
    }
  }
  CufftLines(const CufftLines&) = delete;
  CufftLines& operator=(const CufftLines&) = delete;

  std::size_t workspace() const override { return workspace_; }
  void use_workspace(void* memory) override {
    const cuda::DeviceScope scope(device_);
    check_cufft(Cufft::get().set_work_area(plan_, memory), "take its workspace");
  }

  void run(Stream& stream, const void* from, void* to) override {
    const Cufft& cufft = Cufft::get();
    const cuda::DeviceScope scope(device_);
    check_cufft(cufft.set_stream(plan_, static_cast<cudaStream_t>(stream.native())), "change its stream");
    void* in = const_cast<void*>(from);  // cast, because cuFFT takes no const pointers
    const bool into = batch_.kind == Kind::complex_to_real;
    const void* const real = into ? to : from;
    if (!is_real() || reinterpret_cast<std::uintptr_t>(real) % (2 * word()) == 0) {
      check_cufft(execute(cufft, in, to), "transform");
      return;
    }
    require(aligned_.bytes() > 0, "cuFFT takes real values at addresses that are multiples of " +
                                      std::to_string(2 * word()) + " bytes: begin the array there");
    if (!into) copy(stream, aligned_.data(), from, aligned_.bytes());
    check_cufft(execute(cufft, into ? in : aligned_.data(), into ? aligned_.data() : to), "transform");
    if (into) copy(stream, to, aligned_.data(), aligned_.bytes());
  }

 private:
  cufftResult execute(const Cufft& cufft, void* in, void* out) const {
    const auto real = [](void* p) { return static_cast<cufftReal*>(p); };
    const auto complex = [](void* p) { return static_cast<cufftComplex*>(p); };
    const auto real64 = [](void* p) { return static_cast<cufftDoubleReal*>(p); };
    const auto complex64 = [](void* p) { return static_cast<cufftDoubleComplex*>(p); };
    const int way = batch_.kind == Kind::forward ? CUFFT_FORWARD : CUFFT_INVERSE;
    switch (type_of(batch_)) {
      case CUFFT_R2C:
        return cufft.r2c(plan_, real(in), complex(out));
      case CUFFT_C2R:
        return cufft.c2r(plan_, complex(in), real(out));
      case CUFFT_D2Z:
        return cufft.d2z(plan_, real64(in), complex64(out));
      case CUFFT_Z2D:
        return cufft.z2d(plan_, complex64(in), real64(out));
      case CUFFT_Z2Z:
        return cufft.z2z(plan_, complex64(in), complex64(out), way);
      default:
        return cufft.c2c(plan_, complex(in), complex(out), way);
    }
  }

  bool is_real() const { return batch_.kind == Kind::real_to_complex || batch_.kind == Kind::complex_to_real; }
  std::size_t word() const { return batch_.twice ? 8 : 4; }

  Device device_;
  LineBatch batch_;
  Buffer<std::byte> aligned_;
  cufftHandle plan_ = 0;
  std::size_t workspace_ = 0;
};

}  // namespace

std::string cufft_missing() { return Cufft::get().missing(); }

std::unique_ptr<Lines> make_cufft_lines(Device device, const LineBatch& batch) {
  return std::make_unique<CufftLines>(device, batch);
}

}  // namespace slipstream::fft
