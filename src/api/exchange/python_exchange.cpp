// Exchanges over arrays that Python programs own. The Python side (slipstream/exchange/halo.py) describes the arrays by
// address, strides and type; nothing here looks at an array object.
#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>

#include <slipstream/exchange.hpp>
#include <slipstream/transpose.hpp>
#include <slipstream/tuner.hpp>

#include "api/exchange/caller_streams.hpp"
#include "api/exchange/python_report.hpp"
#include "api/python_core.hpp"
#include "api/reading.hpp"
#include "exchange/overlaps.hpp"

namespace slipstream::python {
namespace {

/// Options and arrays of a field as a Python program describes them.
struct Given {
  FieldOptions field;
  std::vector<OwnArray> arrays;
};

/// Reads the options of a field; other options remain for the caller.
Given given_from(Reader& reader) {
  Given g;
  std::string type, layout = "soa";
  std::vector<nb::dict> arrays;
  reader.read("name", g.field.name);
  reader.read("type", type);
  reader.read("components", g.field.components);
  reader.read("copies", g.field.copies);
  reader.read("ghost", g.field.ghost);
  reader.read("padding", g.field.padding);
  reader.read("layout", layout);
  reader.read("arrays", arrays);
  g.field.type = dtype_from_string(type);
  g.field.layout = layout_from_string(layout);
  for (const nb::dict& array : arrays)
    g.arrays.push_back({reinterpret_cast<void*>(nb::cast<std::uintptr_t>(array["pointer"])),
                        nb::cast<Extent>(array["stride"]), nb::cast<std::int64_t>(array["component_stride"])});
  return g;
}

/// A halo exchange or transpose of one field: source field, target field, options of the pattern and coding.
struct Wanted {
  Given source;
  std::optional<Given> target;  ///< target field of a transpose
  Halo::Options halo;
  Op op = Op::copy;  ///< of a halo exchange: `copy` fills ghost cells; add, min, max, multiply combine them into cells
  Transpose::Options transpose;
  bool rebinds = false;
  Coding coding;
};

Wanted wanted_from(const nb::dict& dict) {
  Wanted w;
  std::string reach = "all", combine, coding = "raw";
  Reader reader(dict, "a field");
  w.source = given_from(reader);
  reader.read("low", w.halo.low);
  reader.read("high", w.halo.high);
  reader.read("reach", reach);
  reader.read("combine", combine);
  reader.read("coding", coding);
  reader.finish();
  w.coding = coding_from_string(coding);
  w.halo.reach = one_of<Reach>(
      reach, {{"faces", Reach::faces}, {"faces_and_edges", Reach::faces_and_edges}, {"all", Reach::all}}, "reach");
  if (!combine.empty()) w.op = op_from(combine);
  return w;
}

Wanted transposed_from(const nb::dict& source, const nb::dict& target, const nb::dict& how) {
  Wanted w;
  Reader from(source, "a field"), to(target, "a field"), options(how, "a transpose");
  w.source = given_from(from);
  w.target = given_from(to);
  options.read("axes", w.transpose.axes);
  options.read("kept", w.transpose.kept);
  options.read("rebinds", w.rebinds);
  std::string coding = "raw";
  options.read("coding", coding);
  w.coding = coding_from_string(coding);
  for (Reader* reader : {&from, &to, &options}) reader->finish();
  return w;
}

/// Options and fields of an exchange, as read from Python.
struct Asked {
  std::vector<Wanted> wanted;
  ExchangeOptions options;
  Watched watched;
};

Asked asked_from(std::vector<Wanted> wanted, const nb::dict& options) {
  Asked asked{std::move(wanted), {}, {}};
  asked.options = exchange_options(options, &asked.watched);
  return asked;
}

/// An exchange of fields over the caller's arrays, with their patterns.
class ArrayExchange {
 public:
  /// Constructs the exchange; collective. `target`: block grid of a transpose's target fields; null without transposes.
  ArrayExchange(const Communicator& comm, const Grid& grid, const Grid* target, Asked asked)
      : streams_(grid.machine(), grid.rank()), comm_(comm), machine_(grid.machine()) {
    on_all_ranks(comm, [&] {
      for (const Wanted& w : asked.wanted) patterns_.push_back(pattern_of(w, grid, target));
    });
    std::vector<ExchangeItem> items;
    for (std::size_t n = 0; n < asked.wanted.size(); ++n) {
      const Wanted& w = asked.wanted[n];
      fields_.push_back(Field::adopt(comm, grid, w.source.field, w.source.arrays));
      Field* const source = &fields_.back();
      if (w.target) fields_.push_back(Field::adopt(comm, *target, w.target->field, w.target->arrays));
      Field* const to = w.target ? &fields_.back() : nullptr;
      items.push_back({patterns_[n].get(), source, to, w.rebinds, w.coding});
    }
    on_all_ranks(comm, [&] {
      for (const ExchangeItem& a : items)
        for (const ExchangeItem& b : items)
          if (a.rebinds && share_memory(*a.source, b.to()))
            throw Error(ErrorCode::unsupported,
                        "what is bound anew must lie apart, and field '" + a.source->options().name +
                            "' shares memory with '" + b.to().options().name +
                            "': leave rebinds out, or give other arrays",
                        {{"field", a.source->options().name}, {"other", b.to().options().name}});
    });
    ExchangeOptions& options = asked.options;
    if (std::any_of(items.begin(), items.end(),
                    [](const ExchangeItem& item) { return item.coding.kind == Coding::Kind::automatic; })) {
      CodingChoice choice = choose_codings(comm, grid, std::move(items), options);
      items = std::move(choice.items);
      coding_reason_ = std::move(choice.reason);
    }
    for (const ExchangeItem& item : items) codings_[item.source->options().name] = to_string(item.coding);
    if (asked.watched.trace) options.trace = &trace_.emplace();
    tuning_.options = options;
    tuning_.source = "rules";
    if (asked.watched.tune) tuning_ = tune(comm, grid, items, options, *asked.watched.tune);
    exchange_.emplace(comm, grid, std::move(items), tuning_.options);
  }

  void begin(const std::vector<std::uintptr_t>& natives) { exchange().begin(streams_.of(natives)); }

  void end(const std::vector<std::uintptr_t>& natives) {
    exchange().end(streams_.of(natives));
    finish();
  }

  void run(const std::vector<std::uintptr_t>& natives) {
    exchange().run(streams_.of(natives));
    finish();
  }

  void bind(std::size_t item, bool source, const std::vector<std::uintptr_t>& pointers,
            const std::vector<std::uintptr_t>& natives) {
    std::vector<void*> arrays;
    for (const std::uintptr_t pointer : pointers) arrays.push_back(reinterpret_cast<void*>(pointer));
    exchange().bind(item, source ? ItemEnd::source : ItemEnd::target, arrays, streams_.of(natives));
  }

  void swap(const std::string& name) {
    exchange();
    for (Field& field : fields_)
      if (field.options().name == name) return field.swap();
    throw Error(ErrorCode::not_found, "the exchange has no field named '" + name + "'", {{"field", name}});
  }

  /// Releases the caller's arrays, so that they may be freed. Collective.
  void close() {
    exchange_.reset();
    patterns_.clear();
    fields_.clear();
  }

  std::vector<ArenaRow> arenas() const { return arena_report(comm_, machine_); }

  Exchange& exchange() {
    if (!exchange_.has_value())
      throw Error(ErrorCode::wrong_state, "the exchange was closed: construct another", {{"problem", "closed"}});
    return *exchange_;
  }
  const Tuning& tuning() const { return tuning_; }
  nb::dict codings() const {
    nb::dict by_name;
    for (const auto& [name, coding] : codings_) by_name[name.c_str()] = coding;
    return by_name;
  }
  const std::string& coding_reason() const { return coding_reason_; }
  void write_trace(const std::string& folder) {
    if (!trace_.has_value())
      throw Error(ErrorCode::wrong_state, "the exchange was not traced: construct it with trace=True",
                  {{"problem", "not_traced"}});
    python::write_trace(comm_, *trace_, folder);
  }

 private:
  static std::unique_ptr<const Pattern> pattern_of(const Wanted& w, const Grid& grid, const Grid* target) {
    if (w.target) return std::make_unique<Transpose>(grid, *target, w.transpose);
    if (w.op == Op::copy) return std::make_unique<Halo>(w.halo);
    return std::make_unique<HaloAdjoint>(w.halo, w.op);
  }

  /// Whether the arrays of two fields share memory on this rank.
  static bool share_memory(const Field& a, const Field& b) {
    const auto bytes = [](const Field& field, std::int64_t block) {
      return bytes_of(field.data(block), field.shape(block), field.options());
    };
    const auto& of_a = a.grid().local();
    return std::any_of(of_a.begin(), of_a.end(), [&](std::int64_t mine) {
      const auto& of_b = b.grid().local();
      return std::any_of(of_b.begin(), of_b.end(),
                         [&](std::int64_t other) { return bytes(a, mine).meet(bytes(b, other)); });
    });
  }

  void finish() {
    if (streams_.finish()) exchange_->check();
  }

  std::deque<Field> fields_;
  std::vector<std::unique_ptr<const Pattern>> patterns_;
  CallerStreams streams_;
  Communicator comm_;
  const Machine& machine_;
  std::optional<Trace> trace_;
  Tuning tuning_;
  std::map<std::string, std::string> codings_;
  std::string coding_reason_;
  std::optional<Exchange> exchange_;
};

Grid grid_from(const Extent& cells, const Machine& machine, int rank, const nb::dict& dict) {
  GridOptions options;
  std::string placement = "theoretical";
  std::vector<std::tuple<Extent, Extent, int>> boxes;
  Reader reader(dict, "a grid");
  reader.read("periodic", options.periodic);
  reader.read("dimensions", options.dimensions);
  reader.read("blocks_per_device", options.partition.blocks_per_device);
  reader.read("node_grid", options.partition.nodes);
  reader.read("device_grid", options.partition.devices);
  reader.read("placement", placement);
  reader.read("placement_seed", options.placement_seed);
  reader.read("measured_gb_per_s", options.measured_gb_per_s);
  reader.read("boxes", boxes);
  reader.finish();
  options.placement = placement_from_string(placement);
  for (const auto& [lo, hi, device] : boxes) {
    Block block;
    block.box = {lo, hi};
    block.device = device;
    options.boxes.push_back(block);
  }
  return Grid(cells, machine, rank, options);
}

/// Address, shape, strides and device of an array that supports DLPack or the buffer protocol.
nb::dict array_facts(const nb::object& given) {
  nb::ndarray<nb::ro> array;
  if (!nb::try_cast(given, array) || !array.is_valid()) throw nb::type_error("no array");
  nb::ndarray<> written;
  nb::dict facts;
  facts["read_only"] = !nb::try_cast(given, written);
  nb::list shape, strides;
  for (std::size_t axis = 0; axis < array.ndim(); ++axis) {
    shape.append(array.shape(axis));
    strides.append(array.stride(axis));
  }
  const auto dtype = array.dtype();
  facts["pointer"] = reinterpret_cast<std::uintptr_t>(array.data());
  facts["shape"] = shape;
  facts["strides"] = strides;
  facts["kind"] = static_cast<int>(dtype.code);
  facts["bits"] = static_cast<int>(dtype.bits) * dtype.lanes;
  facts["host"] = array.device_type() == nb::device::cpu::value;
  return facts;
}

/// Options of an exchange by a scheme of Risso's thesis: the scheme's route, and how messages are packed and sent.
nb::dict scheme_dict(const std::string& name) {
  const Scheme scheme = named_scheme(name);
  nb::dict entry;
  entry["routes"] = std::vector<std::string>{to_string(scheme.route)};
  entry["pack"] = to_string(scheme.knobs.pack);
  entry["streams"] = to_string(scheme.knobs.streams);
  entry["sync"] = scheme.knobs.sync;
  return entry;
}

void bind_communicator(nb::module_& m) {
  using Release = nb::call_guard<Released>;
  nb::class_<Communicator>(m, "Communicator", "Ranks that work together, on a communicator of their own.")
      .def_static(
          "world", [] { return world(); }, Release())
      .def_static(
          "alone",
          [] {
            world();  // a first call starts MPI
            return Communicator(MPI_COMM_SELF);
          },
          Release(), "Communicator of this rank alone.")
      .def_static(
          "from_handle",
          [](int handle) {
            if (!mpi_started())
              throw Error(ErrorCode::wrong_state,
                          "a communicator was given, but MPI does not run: start it, or use world()",
                          {{"library", "MPI"}});
            Released release;
            return Communicator(MPI_Comm_f2c(handle));
          },
          nb::arg("handle"), "From the integer that MPI_Comm_c2f gives (mpi4py: comm.py2f()). Collective.")
      .def_prop_ro("rank", &Communicator::rank)
      .def_prop_ro("size", &Communicator::size)
      .def("__repr__",
           [](const Communicator& comm) {
             return "<slipstream.Communicator: rank " + std::to_string(comm.rank()) + " of " +
                    std::to_string(comm.size()) + ">";
           })
      .def("barrier", &Communicator::barrier, Release())
      .def(
          "all_gather", [](const Communicator& comm, const std::string& mine) { return comm.all_gather(mine); },
          nb::arg("text"), Release());
}

void bind_grid(nb::module_& m) {
  nb::class_<Grid>(m, "Grid", "A box of cells cut into blocks on the devices of a machine.")
      .def(
          "__init__",
          [](Grid* self, const Extent& cells, const Machine& machine, const Communicator& comm,
             const nb::dict& options) {
            new (self) Grid(on_every_rank(comm, [&] { return grid_from(cells, machine, comm.rank(), options); }));
          },
          nb::arg("cells"), nb::arg("machine"), nb::arg("comm"), nb::arg("options"), "Collective.")
      .def("blocks",
           [](const Grid& grid) {
             nb::list all;
             for (const Block& block : grid.blocks()) all.append(block_dict(block));
             return all;
           })
      .def("local", &Grid::local)
      .def_prop_ro("suited_layout", [](const Grid& grid) { return to_string(suited_layout(grid)); });
}

}  // namespace

void bind_exchange(nb::module_& m) {
  using Release = nb::call_guard<Released>;
  bind_communicator(m);
  bind_grid(m);
  m.def("array_facts", &array_facts, nb::arg("array"));
  m.def("scheme", &scheme_dict, nb::arg("name"));
  m.def(
      "throttled_seconds",
      [](const std::string& throttle, double bytes) { return throttle_from_string(throttle).seconds(bytes); },
      nb::arg("throttle"), nb::arg("bytes"),
      "Seconds that the emulated network needs for `bytes` bytes of messages between two devices.");
  nb::class_<ArrayExchange>(m, "ArrayExchange", "Exchanges of arrays that the caller owns.")
      .def(
          "__init__",
          [](ArrayExchange* self, const Communicator& comm, const Grid& grid, const std::vector<nb::dict>& fields,
             const nb::dict& options) {
            Asked asked = on_every_rank(comm, [&] {
              std::vector<Wanted> wanted;
              for (const nb::dict& field : fields) wanted.push_back(wanted_from(field));
              return asked_from(std::move(wanted), options);
            });
            Released release;
            new (self) ArrayExchange(comm, grid, nullptr, std::move(asked));
          },
          nb::arg("comm"), nb::arg("grid"), nb::arg("fields"), nb::arg("options"), nb::keep_alive<1, 3>())
      .def(
          "__init__",
          [](ArrayExchange* self, const Communicator& comm, const Grid& grid, const Grid& target,
             const std::vector<std::pair<nb::dict, nb::dict>>& fields, const nb::dict& how, const nb::dict& options) {
            Asked asked = on_every_rank(comm, [&] {
              std::vector<Wanted> wanted;
              for (const auto& [from, into] : fields) wanted.push_back(transposed_from(from, into, how));
              return asked_from(std::move(wanted), options);
            });
            Released release;
            new (self) ArrayExchange(comm, grid, &target, std::move(asked));
          },
          nb::arg("comm"), nb::arg("grid"), nb::arg("target"), nb::arg("fields"), nb::arg("how"), nb::arg("options"),
          nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>())
      .def("bind", &ArrayExchange::bind, nb::arg("item"), nb::arg("source"), nb::arg("pointers"), nb::arg("streams"),
           Release())
      .def("begin", &ArrayExchange::begin, nb::arg("streams"), Release())
      .def("end", &ArrayExchange::end, nb::arg("streams"), Release())
      .def("run", &ArrayExchange::run, nb::arg("streams"), Release())
      .def("swap", &ArrayExchange::swap, nb::arg("field"))
      .def(
          "progress", [](ArrayExchange& self) { return self.exchange().progress(); }, Release())
      .def(
          "check", [](ArrayExchange& self) { self.exchange().check(); }, Release())
      .def("close", &ArrayExchange::close, Release())
      .def_prop_ro("capturable", [](ArrayExchange& self) { return self.exchange().capturable(); })
      .def_prop_ro("limited_in_graphs", [](ArrayExchange& self) { return self.exchange().limited_in_graphs(); })
      .def_prop_ro("codings", &ArrayExchange::codings)
      .def_prop_ro("coding_reason", &ArrayExchange::coding_reason)
      .def_prop_ro("needs_host", [](ArrayExchange& self) { return self.exchange().needs_host(); })
      .def_prop_ro("sequence", [](ArrayExchange& self) { return self.exchange().sequence(); })
      .def("messages", [](ArrayExchange& self) { return message_list(self.exchange().messages()); })
      .def("report",
           [](ArrayExchange& self) {
             std::vector<ReportRow> rows;
             {
               Released release;
               rows = self.exchange().report();
             }
             return report_list(rows);
           })
      .def("arenas",
           [](ArrayExchange& self) {
             std::vector<ArenaRow> rows;
             {
               Released release;
               rows = self.arenas();
             }
             return arena_list(rows);
           })
      .def("tuning", [](ArrayExchange& self) { return tuning_dict(self.tuning()); })
      .def("write_trace", &ArrayExchange::write_trace, nb::arg("folder"), Release());
  m.def(
      "codings_that_keep",
      [](const std::string& type, double max_error) {
        std::vector<std::string> names;
        for (const Coding& coding : codings_that_keep(dtype_from_string(type), max_error))
          names.push_back(to_string(coding));
        return names;
      },
      nb::arg("type"), nb::arg("max_error"),
      "Codings whose error, over the largest magnitude of a block, is at most this.");
}

}  // namespace slipstream::python
