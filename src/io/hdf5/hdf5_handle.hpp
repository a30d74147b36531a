#pragma once
#include <hdf5.h>

#include <string>
#include <utility>

#include <slipstream/error.hpp>

namespace slipstream {

/// Keeps HDF5 from printing its error stack while it lives, then gives the host program its own handler back.
class QuietHdf5 {
 public:
  QuietHdf5();
  ~QuietHdf5();
  QuietHdf5(const QuietHdf5&) = delete;
  QuietHdf5& operator=(const QuietHdf5&) = delete;

 private:
  H5E_auto2_t handler_ = nullptr;
  void* data_ = nullptr;
};

/// What HDF5 says of the last call that failed: the innermost line of its error stack.
std::string hdf5_reason();

/// Throws an Error of input and output, "<what>: <reason>", for a negative status of HDF5.
void hdf5_check(herr_t status, const std::string& what);

/// Owns one identifier of HDF5.
class Hdf5Handle {
 public:
  using Closer = herr_t (*)(hid_t);

  Hdf5Handle() = default;
  /// Throws an Error of input and output, "<what>: <reason>" with these facts, where `id` is negative.
  Hdf5Handle(hid_t id, Closer closer, const std::string& what, const Facts& facts = {});
  Hdf5Handle(Hdf5Handle&& other) noexcept
      : id_(std::exchange(other.id_, H5I_INVALID_HID)), closer_(std::exchange(other.closer_, nullptr)) {}
  Hdf5Handle& operator=(Hdf5Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(closer_, other.closer_);
    return *this;
  }
  ~Hdf5Handle() {
    if (closer_) closer_(id_);
  }

  hid_t get() const { return id_; }
  /// Closes now, for those whose closing can fail: files flush.
  void close(const std::string& what);

 private:
  hid_t id_ = H5I_INVALID_HID;
  Closer closer_ = nullptr;
};

}  // namespace slipstream
