#pragma once
#include <hdf5.h>

#include <string>
#include <utility>

#include <slipstream/error.hpp>

namespace slipstream {

/// Suppresses HDF5's error printing during its lifetime, then restores the host program's handler.
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

/// HDF5's reason for the last failed call: the innermost entry of its error stack.
std::string hdf5_reason();

/// Throws ErrorCode::io, "<what>: <reason>", for a negative HDF5 status.
void hdf5_check(herr_t status, const std::string& what);

/// Owns an HDF5 identifier and closes it.
class Hdf5Handle {
 public:
  using Closer = herr_t (*)(hid_t);

  Hdf5Handle() = default;
  /// Throws ErrorCode::io with the message "<what>: <HDF5's reason>" if `id` is negative; `facts` go into the Error.
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
  /// Closes the identifier explicitly, for objects such as files whose flush may fail.
  void close(const std::string& what);

 private:
  hid_t id_ = H5I_INVALID_HID;
  Closer closer_ = nullptr;
};

}  // namespace slipstream
