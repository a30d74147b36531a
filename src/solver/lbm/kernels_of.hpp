#pragma once
// The kernels of one lattice and number format, as functors for both backends.
#include "solver/lbm/collision/trt.hpp"
#include "solver/lbm/link_kernels.hpp"
#include "solver/lbm/readings.hpp"
#include "solver/lbm/stream_collide.hpp"

namespace slipstream::lbm {

/// The step by a model that is not plain; written in collide_by_model.hpp and instantiated in files of its own.
template <class L, class T>
void collide_by_model(Stream& stream, const Box& box, const BlockArrays& block, Layout layout, const Model& model);

template <class L, class T>
class KernelsOf final : public Kernels {
 public:
  void start(Stream& stream, const Box& box, const BlockArrays& b, const Model& model) const override {
    launch(stream, box,
           Rest<L, T>{Access<L, T, Strides::any>(b.populations), half(model, 0), half(model, 1), half(model, 2)});
  }

  void stream_collide(Stream& stream, const Box& box, const BlockArrays& b, Layout layout,
                      const Model& model) const override {
    if (!model.plain()) return collide_by_model<L, T>(stream, box, b, layout, model);
    const auto run = [&]<Strides strides, bool wrap_x>() {
      const Trt<L, T> collision(model.plus, model.minus);
      b.has_solids ? launch_step<L, T, strides, true, wrap_x>(stream, box, b, collision)
                   : launch_step<L, T, strides, false, wrap_x>(stream, box, b, collision);
    };
    if (layout == Layout::aos) {
      run.template operator()<Strides::aos, false>();
    } else if (b.wrap.extent[0] > 0) {
      run.template operator()<Strides::soa, true>();
    } else {
      run.template operator()<Strides::soa, false>();
    }
  }

  void apply_links(Stream& stream, const LinkSpans& links, const BlockArrays& b, const Model& model) const override {
    T* const origin = reinterpret_cast<T*>(b.populations.origin);
    const Places places(b);
    launch_per_link(stream, links.half_way.size(), HalfWay<T>{origin, places, links.half_way.data()});
    launch_per_link(stream, links.weighted.size(), Weighted<T>{origin, places, links.weighted.data()});
    launch_per_link(
        stream, links.pressure.size(),
        Pressure<L, T>{origin, places, {half(model, 0), half(model, 1), half(model, 2)}, links.pressure.data()});
  }

  void loads(Stream& stream, std::span<const LoadLink> links, const std::array<double, 3>& corner, const BlockArrays& b,
             double* sums) const override {
    launch_teams(stream, load_teams(links.size()), load_threads, 6 * load_threads * sizeof(double),
                 Loads<T>{reinterpret_cast<const T*>(b.populations.origin),
                          Places(b),
                          links.data(),
                          static_cast<std::int64_t>(links.size()),
                          {corner[0], corner[1], corner[2]},
                          sums});
  }

  void macroscopic(Stream& stream, const Box& box, const BlockArrays& b, const Model& model,
                   double* change) const override {
    launch_teams(stream, rows(box), row_threads, row_threads * sizeof(double),
                 Macroscopic<L, T>{Access<L, const T, Strides::any>(b.populations),
                                   Scalars<T>(b.velocity),
                                   Scalars<T>(b.density),
                                   Scalars<const std::uint8_t>(b.flags),
                                   box,
                                   {half(model, 0), half(model, 1), half(model, 2)},
                                   change});
  }

  void excess_mass(Stream& stream, const Box& box, const BlockArrays& b, double* sum) const override {
    launch_teams(stream, rows(box), row_threads, row_threads * sizeof(double),
                 ExcessMass<L, T>{Access<L, const T, Strides::any>(b.populations), Scalars<const std::uint8_t>(b.flags),
                                  box, sum});
  }

 private:
  static T half(const Model& model, int axis) { return static_cast<T>(0.5 * model.force[axis]); }
};

}  // namespace slipstream::lbm
