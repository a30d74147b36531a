#include "io/hdf5/hdf5_handle.hpp"

#include <slipstream/error.hpp>

namespace slipstream {

QuietHdf5::QuietHdf5() {
  H5Eget_auto2(H5E_DEFAULT, &handler_, &data_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

QuietHdf5::~QuietHdf5() { H5Eset_auto2(H5E_DEFAULT, handler_, data_); }

std::string hdf5_reason() {
  std::string reason;
  const auto keep_last = [](unsigned, const H5E_error2_t* error, void* to) -> herr_t {
    if (error->desc && *error->desc) *static_cast<std::string*>(to) = error->desc;
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, keep_last, &reason);
  return reason.empty() ? "HDF5 gives no reason" : reason;
}

void hdf5_check(herr_t status, const std::string& what) {
  if (status < 0) throw Error(ErrorCode::io, what + ": " + hdf5_reason());
}

Hdf5Handle::Hdf5Handle(hid_t id, Closer closer, const std::string& what, const Facts& facts)
    : id_(id), closer_(closer) {
  if (id >= 0) return;
  closer_ = nullptr;
  throw Error(ErrorCode::io, what + ": " + hdf5_reason(), facts);
}

void Hdf5Handle::close(const std::string& what) {
  const Closer closer = std::exchange(closer_, nullptr);
  if (closer) hdf5_check(closer(std::exchange(id_, H5I_INVALID_HID)), what);
}

}  // namespace slipstream
