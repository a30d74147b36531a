#include "api/solver/python_solver.hpp"

#include <slipstream/gather.hpp>

#include <nanobind/stl/pair.h>

/// Type traits of half-precision numbers, with which nanobind returns arrays of them.
template <>
struct nanobind::detail::dtype_traits<slipstream::Half> {
  static constexpr dlpack::dtype value{static_cast<std::uint8_t>(dlpack::dtype_code::Float), 16, 1};
  static constexpr auto name = const_name("float16");
};

namespace slipstream::python {

Asked::Asked(const nb::object& function)
    : function_(new nb::object(function), [](nb::object* p) {
        const nb::gil_scoped_acquire acquire;
        delete p;
      }) {}

nb::dict block_dict(const Block& block) {
  nb::dict d;
  d["id"] = block.id;
  d["lo"] = triple(block.box.lo);
  d["hi"] = triple(block.box.hi);
  d["device"] = block.device;
  d["rank"] = block.rank;
  return d;
}

namespace {

/// Calls make<T>() with the type T of a field's values.
template <class Make>
nb::object with_type(DType type, const Make& make) {
  switch (type) {
    case DType::u8:
      return make.template operator()<std::uint8_t>();
    case DType::f16:
      return make.template operator()<Half>();
    case DType::f32:
      return make.template operator()<float>();
    case DType::f64:
      return make.template operator()<double>();
    default:
      throw Error(ErrorCode::unsupported,
                  "fields of " + to_string(type) + " cannot be handed out as arrays: of u8, f16, f32 and f64 they can",
                  {{"type", to_string(type)}});
  }
}

/// Makes an array that owns its values; its bytes are those of a field's number format.
nb::object host_array(std::vector<std::byte> values, std::vector<std::size_t> shape, DType type) {
  auto* kept = new std::vector<std::byte>(std::move(values));
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<std::byte>*>(p); });
  const auto make = [&]<class T>() -> nb::object {
    return nb::cast(nb::ndarray<nb::numpy, T>(reinterpret_cast<T*>(kept->data()), shape.size(), shape.data(), owner));
  };
  return with_type(type, make);
}

/// Python array view of a block's interior [z][y][x][component], in memory with the same strides as the field's arrays.
template <class T>
nb::object strided(T* origin, const Field& field, std::int64_t block, nb::handle owner, Device device) {
  const BlockShape& shape = field.shape(block);
  const std::size_t size[4] = {static_cast<std::size_t>(shape.extent[2]), static_cast<std::size_t>(shape.extent[1]),
                               static_cast<std::size_t>(shape.extent[0]),
                               static_cast<std::size_t>(field.options().components)};
  const std::int64_t stride[4] = {shape.stride[2], shape.stride[1], shape.stride[0], shape.component_stride};
  if (device.backend == Backend::host) return nb::cast(nb::ndarray<nb::numpy, T>(origin, 4, size, owner, stride));
  return nb::cast(
      nb::ndarray<T>(origin, 4, size, owner, stride, nb::dtype<T>(), nb::device::cuda::value, device.index));
}

/// Returns the interior of a block as an array without a copy.
nb::object block_array(const Field& field, std::int64_t block, nb::handle owner) {
  const auto make = [&]<class T>() -> nb::object {
    return strided(field.view<T>(block).origin, field, block, owner, field.device(block));
  };
  return with_type(field.options().type, make);
}

/// Returns the interior of a block as an array in host memory.
nb::object block_copy(const Field& field, std::int64_t block) {
  const BlockShape& shape = field.shape(block);
  const auto make = [&]<class T>() -> nb::object {
    auto* kept = new std::vector<T>(static_cast<std::size_t>(shape.elements));
    const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    Stream stream(field.device(block));
    copy(stream, kept->data(), field.data(block), kept->size() * sizeof(T));
    stream.synchronize();
    return strided(kept->data() + shape.origin, field, block, owner, {});
  };
  return with_type(field.options().type, make);
}

}  // namespace

nb::object gathered(Solver& solver, const std::string& name, const Box& box) {
  std::vector<std::byte> values;
  const Field* field = nullptr;
  {
    Released release;
    field = &solver.field(name);
    values = gather(solver.communicator(), *field, box);
  }
  if (solver.communicator().rank() != 0) return nb::none();
  return host_array(std::move(values),
                    {static_cast<std::size_t>(box.extent(2)), static_cast<std::size_t>(box.extent(1)),
                     static_cast<std::size_t>(box.extent(0)), static_cast<std::size_t>(field->options().components)},
                    field->options().type);
}

nb::list block_arrays(const Field& field, nb::handle owner) {
  nb::list all;
  for (const std::int64_t id : field.grid().local())
    all.append(nb::make_tuple(block_dict(field.grid().block(id)), block_array(field, id, owner)));
  return all;
}

nb::list block_copies(const Field& field) {
  nb::list all;
  for (const std::int64_t id : field.grid().local()) all.append(block_copy(field, id));
  return all;
}

nb::dict effort_dict(const krylov::Effort& e) {
  nb::dict found;
  found["solutions"] = e.solutions;
  found["iterations"] = e.iterations;
  found["unconverged"] = e.unconverged;
  found["rounded"] = e.rounded;
  found["last_iterations"] = e.last.iterations;
  found["residual"] = e.last.reported;
  found["true_residual"] = e.last.true_residual;
  found["history"] = e.last.history;
  return found;
}

nb::dict fit_dict(const krylov::Fit& fit) {
  nb::dict said;
  said["operator_us"] = fit.operator_us;
  said["preconditioner_us"] = fit.preconditioner_us;
  said["coarse_us"] = fit.coarse_us;
  said["operator_asymmetry"] = fit.operator_asymmetry;
  said["preconditioner_asymmetry"] = fit.preconditioner_asymmetry;
  return said;
}

nb::dict plan_dict(const Grid& grid, const std::vector<ArrayBytes>& needed, const std::vector<MessageInfo>& messages,
                   Layout layout, int bytes_per_cell) {
  nb::dict result, counts;
  nb::list blocks, arrays;
  for (const ArrayBytes& array : needed) {
    nb::dict entry;
    entry["device"] = array.device;
    entry["array"] = array.array;
    entry["bytes"] = array.bytes;
    arrays.append(entry);
  }
  for (const Block& block : grid.blocks()) blocks.append(block_dict(block));
  result["blocks"] = blocks;
  counts["nodes"] = triple(grid.partition().nodes);
  counts["devices"] = triple(grid.partition().devices);
  counts["blocks"] = triple(grid.partition().blocks);
  result["partition"] = counts;
  result["arrays"] = arrays;
  result["layout"] = to_string(layout);
  result["messages"] = message_list(messages);
  result["bytes_per_cell"] = bytes_per_cell;
  result["placement_cost"] = grid.placement_cost();
  result["trivial_cost"] = grid.trivial_cost();
  return result;
}

FieldSeries::FieldSeries(Solver& solver, const std::string& path, const std::array<double, 3>& spacing,
                         std::optional<double> up_to)
    : solver_(solver), series_([&] {
        VtkhdfSeries::Options options;
        options.spacing = spacing;
        options.overwrite = true;
        options.up_to = up_to;
        return VtkhdfSeries(solver.communicator(), solver.grid(), path, options);
      }()) {}

void FieldSeries::write(double time, const std::vector<Item>& items) {
  std::vector<VtkhdfSeries::Item> all;
  for (const auto& [name, unit] : items) all.push_back({name, &solver_.field(name), 1, unit});
  series_.write(time, all);
}

namespace {

nb::list phases_of(Solver& solver) {
  nb::list all;
  for (const auto& phase : solver.time_loop().phases()) {
    nb::dict entry;
    entry["name"] = phase.name;
    entry["calls"] = phase.calls;
    entry["seconds"] = phase.seconds;
    all.append(entry);
  }
  return all;
}

nb::list report_of(Solver& solver) {
  std::vector<ReportRow> rows;
  {
    Released release;
    rows = solver.report();
  }
  return report_list(rows);
}

void guard(Solver& solver, std::int64_t every, double spacing,
           const std::map<std::string, std::array<double, 2>>& ranges) {
  solver.guard({every, ranges, {0, 0, 0}, {spacing, spacing, spacing}});
}

}  // namespace

void bind_solver(nb::module_& m) {
  using Release = nb::call_guard<Released>;
  nb::class_<Trace>(m, "Trace", "Records what a run's host threads, streams and messages do.")
      .def(nb::init<std::int64_t>(), nb::arg("most") = 20000)
      .def("__len__", &Trace::size)
      .def_prop_ro("dropped", &Trace::dropped)
      .def(
          "write", [](Trace& self, const std::string& folder) { write_trace(world(), self, folder); },
          nb::arg("folder"), Release());
  nb::class_<FieldSeries>(m, "FieldSeries", "A VTKHDF time series of fields as they stand.")
      .def("write", &FieldSeries::write, nb::arg("time"), nb::arg("items"), Release())
      .def_prop_ro("last_time", &FieldSeries::last_time)
      .def("close", &FieldSeries::close, Release());
  nb::class_<Solver, Simulation>(m, "Solver", "A run of a solver. Calls are collective.")
      .def("advance", &Solver::advance, nb::arg("steps"), Release())
      .def_prop_ro("step", [](Solver& self) { return self.state().step; })
      .def_prop_ro("time", [](Solver& self) { return self.state().time; })
      .def("guard", &guard, nb::arg("every"), nb::arg("spacing") = 1.0,
           nb::arg("ranges") = std::map<std::string, std::array<double, 2>>{},
           "ranges: lowest and highest value by quantity; spacing: edge of a cell, for places.")
      .def("inspect", &Solver::inspect, Release())
      .def(
          "gather",
          [](Solver& self, const std::string& name, const Extent& lo, const Extent& hi) {
            return gathered(self, name, {lo, hi});
          },
          nb::arg("field"), nb::arg("lo"), nb::arg("hi"), "[z, y, x, component] of a box of cells, on rank 0.")
      .def(
          "arrays",
          [](nb::object self, const std::string& name) {
            return block_arrays(nb::cast<Solver&>(self).field(name), self);
          },
          nb::arg("field"), "This rank's blocks with their arrays [z, y, x, component], without copies.")
      .def(
          "copies", [](Solver& self, const std::string& name) { return block_copies(self.field(name)); },
          nb::arg("field"), "Copies of the same arrays on the host, in the order of blocks.")
      .def("phases", &phases_of)
      .def("overlapped", [](Solver& self) { return self.time_loop().overlapped(); })
      .def("tuning", [](Solver& self) { return tuning_dict(self.tuning()); })
      .def("report", &report_of, "The messages of all ranks in the last exchange.");
}

}  // namespace slipstream::python
