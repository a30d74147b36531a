#pragma once
// Element operators whose results are summed over the copies of points, in either precision, for spaces and multigrid
// levels.
#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include <slipstream/gather_scatter.hpp>
#include <slipstream/krylov.hpp>
#include <slipstream/sem.hpp>
#include <slipstream/trace.hpp>

#include "device/upload.hpp"
#include "machine/agree.hpp"
#include "solver/sem/kernels.hpp"

namespace slipstream::sem {

/// Distribution of elements over this rank's devices.
struct Dealt {
  std::vector<std::int64_t> first, elements;
};

template <class T>
class Assembled {
 public:
  /// Prepares sums over copies of points. Collective. The arguments must outlive this object and not move.
  Assembled(const Communicator& comm, const Machine& machine, const ElementBox& box, const Dealt& dealt, int order,
            std::vector<Stream>& streams, const SpaceOptions& options)
      : comm_(comm), machine_(machine), box_(box), dealt_(dealt), order_(order), streams_(streams), options_(options) {
    if (!options_.overlap || !sums(1).exchange()) return;
    on_all_ranks(comm_, [&] { list_borders(); });
  }

  /// Returns the gather-scatter of `components` components. The first call for a number of components is collective.
  GatherScatter& sums(int components) {
    if (const auto found = sums_.find(components); found != sums_.end()) return found->second;
    require(components >= 1 && components <= krylov::most_components,
            "1 to " + std::to_string(krylov::most_components) + " components are summed at once",
            {{"option", "components"}, {"given", components}, {"least", 1}, {"most", krylov::most_components}});
    std::vector<std::vector<std::int64_t>> ids;
    std::vector<SharedPoints> shared;
    const std::int64_t block = Space::elements_of_a_block(box_.count());
    on_all_ranks(comm_, [&] {
      for (std::size_t d = 0; d < dealt_.first.size(); ++d)
        ids.push_back(box_.ids(dealt_.first[d], dealt_.first[d] + dealt_.elements[d], order_));
    });
    for (std::size_t d = 0; d < ids.size(); ++d) shared.push_back({ids[d], dealt_.first[d] / block, block * cube()});
    const GatherScatterOptions how{.type = sizeof(T) == 8 ? DType::f64 : DType::f32,
                                   .components = components,
                                   .exchange = options_.exchange,
                                   .tune = options_.tune};
    return sums_.emplace(components, GatherScatter(comm_, machine_, shared, how)).first->second;
  }

  /// Sums values over the copies of each point: u = Q Q^T u.
  void sum(const std::vector<T*>& u, int components = 1) {
    const DeviceSpans spans(options_.exchange.trace, streams_, "solver", names_[0].c_str(), "exchange");
    sums(components).run(streams_, arrays(u));
  }

  /// Applies the operator and sums copies, out = Q Q^T A in; call_of(device) returns the operator's arguments. Elements
  /// at a device's border come first; their sums travel meanwhile. `then` queues work that needs no sums.
  template <class CallOf, class Then>
  void apply(const std::vector<T*>& out, int components, const CallOf& call_of, const Then& then) {
    GatherScatter& gather_scatter = sums(components);
    const bool overlaps = options_.overlap && gather_scatter.exchange();
    Trace* const trace = options_.exchange.trace;
    const auto compute = [&](const char* name, const std::vector<Buffer<std::int32_t>>* lists) {
      const DeviceSpans spans(trace, streams_, "solver", name, "compute");
      for (std::size_t d = 0; d < streams_.size(); ++d) {
        HelmholtzCallOf<T> call = call_of(d);
        if (lists) {
          call.list = lists->at(d).data();
          call.elements = static_cast<std::int64_t>(lists->at(d).size());
        }
        run(streams_[d], call);
      }
    };
    if (overlaps) {
      compute("elements at borders", &border_);
      const DeviceSpans spans(trace, streams_, "solver", names_[1].c_str(), "exchange");
      gather_scatter.start(streams_, arrays(out));
    }
    compute("elements", overlaps ? &interior_ : nullptr);
    then();
    // This span in a trace is exposed time: the device waits for sums that no computation hides.
    const DeviceSpans spans(trace, streams_, "solver", names_[2].c_str(), "exchange");
    if (overlaps) {
      gather_scatter.finish(streams_);
    } else {
      gather_scatter.run(streams_, arrays(out));
    }
  }

  /// Applies the operator element by element, without sums over copies.
  void run(Stream& stream, const HelmholtzCallOf<T>& call) const {
    const OrderKernels& kernels = order_kernels(order_);
    if constexpr (sizeof(T) == 8) {
      kernels.helmholtz(stream, call);
    } else {
      kernels.helmholtz_f32(stream, call);
    }
  }

 private:
  std::int64_t cube() const { return std::int64_t{order_ + 1} * (order_ + 1) * (order_ + 1); }
  static std::vector<GatherScatter::Array> arrays(const std::vector<T*>& u) {
    std::vector<GatherScatter::Array> all;
    for (T* const values : u) all.push_back({values, 0});
    return all;
  }

  void list_borders() {
    for (std::size_t d = 0; d < streams_.size(); ++d) {
      std::vector<std::int32_t> lists[2];
      const std::vector<std::int64_t>& remote = sums(1).remote_points(d);
      auto next = remote.begin();
      for (std::int64_t e = 0; e < dealt_.elements[d]; ++e) {
        const auto first = next;
        next = std::lower_bound(next, remote.end(), (e + 1) * cube());
        lists[next == first].push_back(static_cast<std::int32_t>(e));
      }
      border_.push_back(upload(streams_[d], lists[0]));
      interior_.push_back(upload(streams_[d], lists[1]));
    }
  }

  const Communicator& comm_;
  const Machine& machine_;
  const ElementBox& box_;
  Dealt dealt_;
  int order_;
  /// Names of operators and of sums in a trace.
  std::array<std::string, 3> names_{"sums of order " + std::to_string(order_),
                                    "start of sums of order " + std::to_string(order_),
                                    "end of sums of order " + std::to_string(order_)};
  std::vector<Stream>& streams_;
  const SpaceOptions& options_;
  std::map<int, GatherScatter> sums_;  ///< gather-scatter operators by number of components
  /// Indices of elements that share points with other devices, and of those that do not, by device.
  std::vector<Buffer<std::int32_t>> border_, interior_;
};

}  // namespace slipstream::sem
