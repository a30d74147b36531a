#include "exchange/coding_errors_kernels.hpp"

#include <algorithm>

#include <slipstream/own_coding.hpp>

#include "device/upload.hpp"
#include "exchange/coding_errors_kernel.hpp"

namespace slipstream {

ErrorProbe::ErrorProbe(Device device, const std::vector<Mover>& movers, const Arrays& arrays)
    : device_(device), arrays_(&arrays), count_(movers.size()) {
  std::vector<Work> works;
  for (const Mover& mover : movers) {
    works.push_back(whole_work(mover, &arrays));
    own_ = std::max<int>(own_, mover.wire.number);
  }
  const bool host = device.backend == Backend::host;
  threads_ = host ? 1 : error_teams * error_threads;
  works_ = upload(device, works);
  partial_ = upload(device, std::vector<ErrorSums>(static_cast<std::size_t>(threads_)));
}

void ErrorProbe::run(Stream& stream) const {
  const ErrorMeasure measure{works_.data(), count_, arrays_->count ? arrays_->on_device() : nullptr, partial_.data(),
                             threads_};
  own_ ? own_coding(own_).measure(stream, measure) : start_measure<void>(stream, measure);
}

ErrorSums ErrorProbe::sums() const {
  Stream stream(device_);
  std::vector<ErrorSums> found(partial_.size());
  synchronize(device_);
  download(stream, partial_.data(), found.size(), found.data());
  ErrorSums all;
  for (const ErrorSums& of_thread : found) all.add(of_thread);
  return all;
}

}  // namespace slipstream
