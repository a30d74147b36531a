#pragma once
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <slipstream/launch.hpp>
#include <slipstream/simulation.hpp>

namespace slipstream {

/// Access to the values of a cell and its neighbours in a stencil update: u(dx, dy, dz).
template <class T>
struct Around {
  const T* here;
  std::int64_t stride[3];
  SLIP_FN T operator()(int dx, int dy, int dz) const { return here[dx * stride[0] + dy * stride[1] + dz * stride[2]]; }
};

namespace detail {
/// Kernel of a stencil update on a box of cells. At namespace scope, because nvcc refuses private types for kernels.
template <class T, class Update>
struct UpdateCells {
  View<T> from, to;
  Update update;
  SLIP_FN void operator()(int i, int j, int k) const {
    const std::int64_t at = i * from.stride[0] + j * from.stride[1] + k * from.stride[2];
    to.origin[at] = update(Around<T>{from.origin + at, {from.stride[0], from.stride[1], from.stride[2]}});
  }
};
}  // namespace detail

/// A user-defined stencil: time steps of a point-wise update on the blocks of a grid. The class adds the halo exchange,
/// the overlap and the graphs. `Update` is a trivially copyable functor with
///
///     SLIP_FN T operator()(const Around<T>& u) const
///
/// which returns the new value of a cell. Files that use it are compiled as CUDA in a CUDA build. Cells beyond sides
/// that are not periodic hold zeros. In a grid of two dimensions dz is 0.
template <class T, class Update>
class PointUpdate final : public Simulation {
 public:
  struct Options {
    int radius = 1;            ///< distance of the farthest neighbour along any axis
    Reach reach = Reach::all;  ///< neighbours that the stencil reads; faces: those along one axis only
    ExchangeOptions exchange;
    Overlap overlap = Overlap::automatic;
  };

  /// Collective. All values start at zero. Throws Error where a block is thinner than the radius.
  PointUpdate(const Communicator& comm, const Grid& grid, Update update, Options options = {})
      : grid_(grid), update_(update), radius_(options.radius), field_(grid, field_options(comm, grid, options)) {
    require(radius_ >= 1, "an update reaches one cell at least", {{"option", "radius"}, {"given", radius_}});
    const Extent& width = field_.options().ghost;
    Halo::Options halo;
    halo.reach = options.reach;
    halo.low = halo.high = width;
    halo_.emplace(halo);
    for (const int index : grid.machine().devices_of_rank(comm.rank())) {
      devices_.push_back(grid.machine().device(index).local);
      blocks_.emplace_back();
      for (const std::int64_t id : grid.local())
        if (grid.block(id).device == index) blocks_.back().push_back(id);
    }
    exchange_.emplace(comm, grid, std::vector{ExchangeItem{&*halo_, &field_}}, options.exchange);
    tasks_ = {exchange_task("exchange", *exchange_),
              split_kernel_task("update", [this](Stream& stream, std::size_t device, Part part) {
                for (const std::int64_t id : blocks_[device]) queue(stream, id, part);
              })};
    state_.fields["u"] = &field_;
    loop_.emplace(*this, options.overlap, options.exchange.trace);
  }

  /// The current values of the stencil's field, one component. Read and write its interior cells between steps.
  Field& field() { return field_; }
  /// Sets each cell of this rank to value(cell), where `cell` has coordinates in the whole grid.
  template <class Value>
  void fill(Value value) {
    each_block([&](const Box& box, std::vector<T>& values) {
      std::size_t n = 0;
      each_place(box, [&](const Extent& place) { values[n++] = value(place); });
      field_.write(box, values.data());
    });
  }
  /// Calls look(cell, value) for each cell of this rank, where `cell` has coordinates in the whole grid.
  template <class Look>
  void each(Look look) const {
    each_block([&](const Box& box, std::vector<T>& values) {
      field_.read(box, values.data());
      std::size_t n = 0;
      each_place(box, [&](const Extent& place) { look(place, values[n++]); });
    });
  }
  /// Runs this number of time steps and waits for them.
  void advance(std::int64_t steps) { loop_->run(steps); }

  State& state() override { return state_; }
  const std::vector<Device>& devices() const override { return devices_; }
  const Tasks& tasks() const override { return tasks_; }
  void finish_step() override {
    field_.swap();
    ++state_.step;
    state_.time += 1;
  }
  Recording recording() const override { return {2, field_.physical(0), 0}; }

 private:
  /// Calls work(box, values) for each local block. `values` is host memory for the cells of its box, [z][y][x].
  template <class Work>
  void each_block(Work work) const {
    for (const std::int64_t id : grid_.local()) {
      const Box& box = grid_.block(id).box;
      std::vector<T> values(static_cast<std::size_t>(box.volume()));
      work(box, values);
    }
  }
  template <class Work>
  static void each_place(const Box& box, Work work) {
    for (std::int64_t z = box.lo[2]; z < box.hi[2]; ++z)
      for (std::int64_t y = box.lo[1]; y < box.hi[1]; ++y)
        for (std::int64_t x = box.lo[0]; x < box.hi[0]; ++x) work(Extent{x, y, z});
  }

  static FieldOptions field_options(const Communicator& comm, const Grid& grid, const Options& options) {
    FieldOptions field;
    field.name = "u";
    field.type = dtype_of<T>();
    field.copies = 2;
    field.shared = comm.size() > 1;
    for (int a = 0; a < 3; ++a) {
      field.ghost[a] = a < grid.dimensions() ? options.radius : 0;
      for (const Block& block : grid.blocks())
        require(block.box.extent(a) >= field.ghost[a], ErrorCode::unsupported,
                "block " + std::to_string(block.id) + " is thinner than the radius " + std::to_string(options.radius) +
                    " of the update: take fewer devices or more cells",
                {{"block", block.id}, {"given", block.box.extent(a)}, {"needed", options.radius}});
    }
    return field;
  }

  void queue(Stream& stream, std::int64_t id, Part part) {
    const Box all{{0, 0, 0}, grid_.block(id).box.extents()};
    const detail::UpdateCells<T, Update> cells{field_.template view<T>(id), field_.template view<T>(id, 1), update_};
    const Extent& width = field_.options().ghost;
    const InteriorAndBoundary split = split_boundary(all, {width, width});
    if (part == Part::all) launch(stream, all, cells);
    if (part == Part::interior) launch(stream, split.interior, cells);
    if (part == Part::boundary)
      for (const Box& box : split.boundary) launch(stream, box, cells);
  }

  const Grid& grid_;
  Update update_;
  int radius_;
  Field field_;
  std::optional<Halo> halo_;
  std::optional<Exchange> exchange_;
  std::vector<Device> devices_;
  std::vector<std::vector<std::int64_t>> blocks_;
  Tasks tasks_;
  State state_;
  std::optional<TimeLoop> loop_;
};

}  // namespace slipstream
