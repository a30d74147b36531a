#include "native/sums_on_host.hpp"

#include <algorithm>

#include <slipstream/stream.hpp>
#include <slipstream/trace.hpp>

#include "device/wait_quietly.hpp"
#include "machine/sum.hpp"
#include "solver/krylov/workspace.hpp"

namespace slipstream::python {

SumsOnHost::SumsOnHost() {
  krylov::Workspace::other_add_up = [this](krylov::Workspace& of, std::vector<Stream>& streams, std::size_t count,
                                           std::size_t place) {
    const HostSpan span(of.trace, "sum on the host", "wait");
    parts_.resize(std::max(parts_.size(), of.sides.size()));
    for (std::size_t d = 0; d < of.sides.size(); ++d) {
      const Buffer<double>& parts = of.sides[d].parts;
      if (parts_[d].size() < parts.size()) {
        streams[d].synchronize();
        parts_[d] = Buffer<double>(parts.device(), parts.size(), Memory::pinned);
      }
      copy(streams[d], parts_[d].data(), parts.data(), parts.bytes());
    }
    std::vector<double> sum(count, 0.0);
    for (std::size_t d = 0; d < of.sides.size(); ++d) {
      streams[d].synchronize();
      const auto blocks = static_cast<std::size_t>(of.sides[d].range.blocks());
      for (std::size_t s = 0; s < count; ++s)
        for (std::size_t n = 0; n < blocks; ++n) sum[s] += parts_[d].data()[s * blocks + n];
    }
    sum_over_ranks(of.comm, sum);
    for (std::size_t d = 0; d < of.sides.size(); ++d) {
      std::copy(sum.begin(), sum.end(), parts_[d].data());
      copy(streams[d], of.at(d, place), parts_[d].data(), count * sizeof(double));
    }
  };
}

SumsOnHost::~SumsOnHost() {
  krylov::Workspace::other_add_up = nullptr;
  for (const Buffer<double>& parts : parts_)
    if (parts.size() > 0) wait_quietly(parts.device());
}

}  // namespace slipstream::python
