// Contents of the population arrays: the initial state, and conversion to the arrangement that output needs.
#include <algorithm>

#include "solver/lbm/impl.hpp"

namespace slipstream::lbm {

void Lbm::Impl::rearrange(bool to_apart) {
  if (apart == to_apart) return;
  if (whole && to_apart) whole->make_arrays();
  for (const BlockWork& work : blocks) {
    Stream& stream = waited[work.device];
    const BlockArrays own = own_arrays(work);
    if (whole) {
      to_apart ? kernel.transcribe(stream, own, whole_arrays(work))
               : kernel.transcribe(stream, whole_arrays(work), own);
    } else {
      rearrange_in_place(stream, work, own, to_apart);
    }
    stream.synchronize();
  }
  if (whole && !to_apart) whole->drop_arrays();
  apart = to_apart;
}

void Lbm::Impl::rearrange_in_place(Stream& stream, const BlockWork& work, BlockArrays block, bool to_apart) {
  const Form own = block.form;
  if (in_place()) {
    Buffer<std::byte> spare(stream.device(),
                            static_cast<std::size_t>(spare_bytes(work.cells.extents(), options.precision)));
    block.form = to_apart ? own : Form::apart;
    kernel.rearrange(stream, block, to_apart ? Form::apart : own, spare.data());
    stream.synchronize();
  }
  block.form = Form::apart;
  if (to_apart && work.has_solids && block.leave_solids) kernel.rest_solids(stream, block);
}

void Lbm::Impl::start() {
  if (!model.forced() && !(by_moments() && options.precision == DType::f16)) return;
  for (const BlockWork& work : blocks) {
    Stream& stream = waited[work.device];
    kernel.start(stream, work.cells, arrays(work), model);
    stream.synchronize();
  }
}

void Lbm::Impl::start_from(const BlockWork& work, const FlowOfBox& flow) {
  const Extent& low = grid.block(work.id).box.lo;
  const std::int64_t planes = std::max<std::int64_t>(1, (1 << 20) / (work.cells.extent(0) * work.cells.extent(1)));
  for (std::int64_t z = 0; z < work.cells.hi[2]; z += planes) {
    Box slab = work.cells;
    slab.lo[2] = z;
    slab.hi[2] = std::min(z + planes, work.cells.hi[2]);
    Box around = shifted(grown(slab, {1, 1, grid.dimensions() == 3 ? 1 : 0}), low);
    for (int a = 0; a < 3; ++a) {
      if (grid.periodic()[a]) continue;
      around.lo[a] = std::max<std::int64_t>(around.lo[a], 0);
      around.hi[a] = std::min(around.hi[a], grid.extent()[a]);
    }
    const auto values = flow(around);
    require(static_cast<std::int64_t>(values.size()) == around.volume(), ErrorCode::mismatch,
            "a flow to start from has " + std::to_string(values.size()) + " values for a box of " +
                std::to_string(around.volume()) + " cells",
            {{"given", values.size()}, {"needed", around.volume()}});
    Stream& stream = waited[work.device];
    const auto there = upload(stream, values);
    kernel.start_from(stream, slab, arrays(work), model,
                      {there.data()->data(), shifted(around, {-low[0], -low[1], -low[2]})});
    stream.synchronize();
  }
}

void Lbm::Impl::rest() {
  comm.barrier();
  for (const BlockWork& work : blocks) {
    Stream& stream = waited[work.device];
    const auto bytes = populations->shape(work.id).elements * static_cast<std::int64_t>(size_of(options.precision));
    for (int copy = 0; copy < populations->options().copies; ++copy)
      fill(stream, populations->data(work.id, copy), 0, static_cast<std::size_t>(bytes));
    stream.synchronize();
  }
  comm.barrier();
  state.step = 0;
  state.time = 0;
  start();
}

}  // namespace slipstream::lbm
