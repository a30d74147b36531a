#include <slipstream/vtkhdf_hexahedra.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

#include <slipstream/error.hpp>

#include "io/hdf5/hdf5_file.hpp"
#include "io/hdf5/hdf5_parallel.hpp"
#include "io/vtkhdf/vtkhdf_steps.hpp"
#include "io/write_values.hpp"
#include "machine/agree.hpp"

namespace slipstream {
namespace {

constexpr std::uint8_t lagrange_hexahedron = 72;  // VTK's number of the cell type VTK_LAGRANGE_HEXAHEDRON
constexpr std::int64_t bytes_of_a_piece = std::int64_t{1} << 24, values_of_a_chunk = std::int64_t{1} << 17;
constexpr hsize_t steps_of_a_chunk = 256;

/// Creates a dataset that is extendible along its first axis.
void create_growing(const Hdf5Handle& file, const std::string& name, hid_t type, Hdf5Sizes sizes, hsize_t chunk) {
  const auto rank = static_cast<int>(sizes.size());
  Hdf5Sizes most = sizes, chunks = sizes;
  most[0] = H5S_UNLIMITED;
  chunks[0] = chunk;
  const Hdf5Handle space(H5Screate_simple(rank, sizes.data(), most.data()), H5Sclose, "sizing the dataset " + name);
  const Hdf5Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "making HDF5 properties");
  hdf5_check(H5Pset_chunk(properties.get(), rank, chunks.data()), "sizing the chunks of " + name);
  // HDF5 chunks are allocated early, for parallel writes.
  hdf5_check(H5Pset_alloc_time(properties.get(), H5D_ALLOC_TIME_EARLY), "allocating " + name);
  hdf5_check(H5Pset_fill_time(properties.get(), H5D_FILL_TIME_NEVER), "allocating " + name);
  Hdf5Handle(H5Dcreate2(file.get(), name.c_str(), type, space.get(), H5P_DEFAULT, properties.get(), H5P_DEFAULT),
             H5Dclose, "making the dataset " + name);
}

void grow(const Hdf5Handle& file, const std::string& name, std::int64_t rows) {
  const Hdf5Handle dataset = open_dataset(file, name);
  Hdf5Sizes sizes = sizes_of(dataset, name);
  if (sizes[0] >= static_cast<hsize_t>(rows)) return;
  sizes[0] = static_cast<hsize_t>(rows);
  hdf5_check(H5Dset_extent(dataset.get(), sizes.data()), "growing the dataset " + name);
}

/// Writes one row of a dataset along its first axis; extends the dataset if needed.
void write_row(const Hdf5Handle& file, const std::string& name, hid_t type, std::int64_t row, const void* value) {
  grow(file, name, row + 1);
  const Hdf5Handle dataset = open_dataset(file, name);
  Hdf5Sizes count = sizes_of(dataset, name), start(count.size(), 0);
  start[0] = static_cast<hsize_t>(row);
  count[0] = 1;
  write_slab(dataset, name, type, Hdf5Slab{start, count}, value);
}

Hdf5Slab rows(std::int64_t first, std::int64_t count, std::int64_t components = 1) {
  Hdf5Slab slab{{static_cast<hsize_t>(first)}, {static_cast<hsize_t>(count)}};
  if (components > 1) slab.start.push_back(0), slab.count.push_back(static_cast<hsize_t>(components));
  return slab;
}

/// Interpolates (n x n x n) values from an element's nodes to equidistant ones, axis by axis. `stride`: distance
/// between values.
template <class T>
void to_even_nodes(const std::vector<double>& e, std::size_t n, std::size_t stride, T* values) {
  const std::size_t cube = n * n * n;
  std::vector<double> now(cube), next(cube);
  for (std::size_t p = 0; p < cube; ++p) now[p] = values[p * stride];
  std::size_t step = 1;
  for (int axis = 0; axis < 3; ++axis, step *= n) {
    for (std::size_t p = 0; p < cube; ++p) {
      const std::size_t at = p / step % n, base = p - at * step;
      double sum = 0;
      for (std::size_t m = 0; m < n; ++m) sum = std::fma(e[at * n + m], now[base + m * step], sum);
      next[p] = sum;
    }
    std::swap(now, next);
  }
  for (std::size_t p = 0; p < cube; ++p) values[p * stride] = static_cast<T>(now[p]);
}

/// Interpolates `elements` elements, [element][node][component], to equidistant nodes.
template <class T>
void elements_to_even_nodes(const std::vector<double>& e, std::size_t n, std::int64_t elements, int components,
                            void* values) {
  const std::size_t each = n * n * n * static_cast<std::size_t>(components);
  for (std::int64_t m = 0; m < elements; ++m)
    for (int c = 0; c < components; ++c)
      to_even_nodes(e, n, static_cast<std::size_t>(components),
                    static_cast<T*>(values) + static_cast<std::size_t>(m) * each + c);
}

}  // namespace

std::vector<std::int64_t> vtk_hexahedron_nodes(int order) {
  const std::int64_t n = order, inner = n - 1;
  std::vector<std::int64_t> nodes;
  const auto add = [&](std::int64_t i, std::int64_t j, std::int64_t k) {
    nodes.push_back(i + (n + 1) * (j + (n + 1) * k));
  };
  constexpr int round[4][2] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}};
  for (const int k : {0, 1})
    for (const auto& c : round) add(c[0] * n, c[1] * n, k * n);
  // VTK's order of points on edges: around the lower face, around the upper one, then along z. Edges along x ascend.
  for (const int k : {0, 1})
    for (int edge = 0; edge < 4; ++edge)
      for (std::int64_t m = 1; m < n; ++m) {
        if (edge % 2 == 0) {
          add(m, edge == 0 ? 0 : n, k * n);
        } else {
          add(edge == 1 ? n : 0, m, k * n);
        }
      }
  for (const auto& c : round)
    for (std::int64_t m = 1; m < n; ++m) add(c[0] * n, c[1] * n, m);
  for (int axis = 0; axis < 3; ++axis)
    for (const int end : {0, 1})
      for (std::int64_t m = 0; m < inner * inner; ++m) {
        const std::int64_t a = 1 + m % inner, b = 1 + m / inner, c = end * n;
        if (axis == 0) add(c, a, b);
        if (axis == 1) add(a, c, b);
        if (axis == 2) add(a, b, c);
      }
  for (std::int64_t m = 0; m < inner * inner * inner; ++m)
    add(1 + m % inner, 1 + m / inner % inner, 1 + m / inner / inner);
  return nodes;
}

struct HexahedraSeries::State {
  Communicator comm;
  std::string path;
  Mesh mesh;
  std::vector<std::string> shapes;  ///< names and types of the first step's fields, which later steps must have
  std::int64_t steps = 0;
  double last_time = -std::numeric_limits<double>::infinity();
  bool closed = false;

  std::size_t edge() const { return static_cast<std::size_t>(mesh.order) + 1; }
  std::int64_t cube() const { return static_cast<std::int64_t>(edge() * edge() * edge()); }
  std::int64_t points() const { return mesh.elements * cube(); }

  void write_values(const std::vector<ValueSource>& sources) const {
    const std::int64_t piece = std::max(bytes_of_a_piece, 24 * cube());  // a piece holds at least one element
    (hdf5_is_parallel() && comm.size() > 1 ? write_values_in_parallel : write_values_by_collecting)(comm, path, sources,
                                                                                                    piece);
  }

  void create() const {
    const Hdf5Handle access = access_alone();
    Hdf5Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()), H5Fclose,
                    "making '" + path + "'", {{"file", path}});
    const Hdf5Handle root = create_group(file, "/VTKHDF");
    const std::array<std::int64_t, 2> version{2, 0};
    write_attribute(root, "Version", H5T_NATIVE_INT64, {2}, version.data());
    write_text_attribute(root, "Type", "UnstructuredGrid");
    for (const char* name : {"/VTKHDF/PointData", "/VTKHDF/CellData", "/VTKHDF/Steps", "/VTKHDF/Steps/PointDataOffsets",
                             "/VTKHDF/Steps/CellDataOffsets"})
      create_group(file, name);
    for (const char* name : {"NumberOfPoints", "NumberOfCells", "NumberOfConnectivityIds"}) {
      const std::string where = std::string("/VTKHDF/") + name;
      const std::int64_t count = where.ends_with("Cells") ? mesh.elements : points();
      create_growing(file, where, H5T_NATIVE_INT64, {0}, 1);
      write_row(file, where, H5T_NATIVE_INT64, 0, &count);
    }
    const auto all = [](std::int64_t count) { return static_cast<hsize_t>(count); };
    create_growing(file, "/VTKHDF/Points", H5T_NATIVE_DOUBLE, {all(points()), 3}, values_of_a_chunk);
    create_growing(file, "/VTKHDF/Connectivity", H5T_NATIVE_INT64, {all(points())}, values_of_a_chunk);
    create_growing(file, "/VTKHDF/Offsets", H5T_NATIVE_INT64, {all(mesh.elements + 1)}, values_of_a_chunk);
    create_growing(file, "/VTKHDF/Types", H5T_NATIVE_UINT8, {all(mesh.elements)}, values_of_a_chunk);
    const std::int64_t zero = 0;
    write_row(file, "/VTKHDF/Offsets", H5T_NATIVE_INT64, 0, &zero);
    create_growing(file, "/VTKHDF/Steps/Values", H5T_NATIVE_DOUBLE, {0}, steps_of_a_chunk);
    for (const char* name : {"PartOffsets", "NumberOfParts", "PointOffsets"})
      create_growing(file, std::string("/VTKHDF/Steps/") + name, H5T_NATIVE_INT64, {0}, steps_of_a_chunk);
    for (const char* name : {"CellOffsets", "ConnectivityIdOffsets"})
      create_growing(file, std::string("/VTKHDF/Steps/") + name, H5T_NATIVE_INT64, {0, 1}, steps_of_a_chunk);
    write_step_count(file, 0);
    finish(file, path);
  }

  void go_on(double up_to) {
    Hdf5Handle file = open_alone(path);
    require(number_of_step(file, "/VTKHDF/NumberOfCells", 0) == mesh.elements &&
                number_of_step(file, "/VTKHDF/NumberOfPoints", 0) == points(),
            ErrorCode::mismatch, "it has other elements", {{"option", "elements"}});
    const VtkhdfSteps kept = keep_steps(file, up_to);
    steps = kept.count;
    last_time = kept.last_time;
    finish(file, path);
  }

  /// Writes the mesh, of which each rank writes its part. Collective.
  void write_mesh() const {
    const std::vector<std::int64_t> nodes = vtk_hexahedron_nodes(mesh.order);
    std::vector<std::pair<int, Box>> parts;
    for (int rank = 0; rank < comm.size(); ++rank)
      parts.emplace_back(
          rank, Box{{mesh.elements * rank / comm.size(), 0, 0}, {mesh.elements * (rank + 1) / comm.size(), 1, 1}});
    const auto source = [&](const char* name, DType type, std::int64_t values, std::int64_t begin, std::int64_t width,
                            auto of_element) {
      ValueSource made{std::string("/VTKHDF/") + name, type, values, parts, {}, {}};
      made.fill = [=](const Box& box, void* all) {
        for (std::int64_t e = box.lo[0]; e < box.hi[0]; ++e) of_element(e, (e - box.lo[0]) * values, all);
      };
      made.slab = [=](const Box& box) {
        const std::int64_t each = values / width;
        return rows(begin + box.lo[0] * each, box.extent(0) * each, width);
      };
      return made;
    };
    write_values({source("Points", DType::f64, 3 * cube(), 0, 3,
                         [this](std::int64_t e, std::int64_t at, void* all) {
                           const auto there = mesh.places(e);
                           double* const here = static_cast<double*>(all) + at;
                           std::memcpy(here, there.data(), there.size() * sizeof there[0]);
                           elements_to_even_nodes<double>(mesh.to_even, edge(), 1, 3, here);
                         }),
                  source("Connectivity", DType::i64, cube(), 0, 1,
                         [this, &nodes](std::int64_t e, std::int64_t at, void* all) {
                           std::int64_t* here = static_cast<std::int64_t*>(all) + at;
                           for (const std::int64_t node : nodes) *here++ = e * cube() + node;
                         }),
                  source("Offsets", DType::i64, 1, 1, 1,
                         [this](std::int64_t e, std::int64_t at, void* all) {
                           static_cast<std::int64_t*>(all)[at] = (e + 1) * cube();
                         }),
                  source("Types", DType::u8, 1, 0, 1, [](std::int64_t, std::int64_t at, void* all) {
                    static_cast<std::uint8_t*>(all)[at] = lagrange_hexahedron;
                  })});
  }

  void check(double time, const std::vector<Item>& items) const {
    require(!closed, ErrorCode::wrong_state, "'" + path + "' is closed: write before close()",
            {{"file", path}, {"problem", "closed"}});
    require(std::isfinite(time) && time > last_time, ErrorCode::wrong_state,
            "times of '" + path + "' must grow: " + std::to_string(time) + " follows " + std::to_string(last_time),
            {{"file", path}, {"option", "time"}, {"given", time}, {"last", last_time}});
    const std::vector<std::string> now = shapes_of(items);
    for (const Item& item : items) {
      const Extent wanted{cube(), mesh.elements, 1};
      const bool fits = item.field && item.field->grid().extent() == wanted;
      const DType type = fits ? item.field->options().type : DType::u8;
      const int components = fits ? item.field->options().components : 0;
      require((type == DType::f32 || type == DType::f64) && (components == 1 || components == 3), ErrorCode::mismatch,
              "the field '" + item.name + "' of '" + path +
                  "' is not of one number or three, f32 or f64, on the nodes of the elements",
              {{"file", path}, {"field", item.name}});
      require(
          std::count_if(items.begin(), items.end(), [&](const Item& other) { return other.name == item.name; }) == 1,
          ErrorCode::invalid_argument, "the field '" + item.name + "' is given twice in one step",
          {{"file", path}, {"field", item.name}});
    }
    require(shapes.empty() || now == shapes, ErrorCode::mismatch,
            "a step of '" + path + "' has other fields than the first", {{"file", path}, {"option", "items"}});
  }

  static std::vector<std::string> shapes_of(const std::vector<Item>& items) {
    std::vector<std::string> shapes;
    for (const Item& item : items)
      shapes.push_back(item.name + (item.field ? " " + to_string(item.field->options().type) + " " +
                                                     std::to_string(item.field->options().components)
                                               : ""));
    return shapes;
  }

  /// Describes the position in the file of the values of a field: after those of earlier steps.
  ValueSource source(const Item& item) const {
    const DType type = item.field->options().type;
    const int components = item.field->options().components;
    ValueSource made = source_of(*item.field, 1, [this, type, components](const Box& box, void* values) {
      const auto change = type == DType::f32 ? elements_to_even_nodes<float> : elements_to_even_nodes<double>;
      change(mesh.to_even, edge(), box.extent(1), components, values);
    });
    made.dataset = "/VTKHDF/PointData/" + item.name;
    made.slab = [this, components, begin = steps * points()](const Box& box) {
      return rows(begin + box.lo[1] * cube(), box.extent(1) * cube(), components);
    };
    return made;
  }

  /// Makes a completely written step visible to readers.
  void commit(const Hdf5Handle& file, double time, const std::vector<Item>& items) const {
    const std::int64_t none = 0, one = 1, begin = steps * points();
    const std::string where = "/VTKHDF/Steps/";
    write_row(file, where + "Values", H5T_NATIVE_DOUBLE, steps, &time);
    write_row(file, where + "NumberOfParts", H5T_NATIVE_INT64, steps, &one);
    for (const char* name : {"PartOffsets", "PointOffsets", "CellOffsets", "ConnectivityIdOffsets"})
      write_row(file, where + name, H5T_NATIVE_INT64, steps, &none);
    for (const Item& item : items)
      write_row(file, where + "PointDataOffsets/" + item.name, H5T_NATIVE_INT64, steps, &begin);
    // The step count is written last, so that readers only see complete steps.
    hdf5_check(H5Fflush(file.get(), H5F_SCOPE_GLOBAL), "writing '" + path + "'");
    write_step_count(file, steps + 1);
  }

  /// Extends the datasets to hold another step; called on rank 0.
  void reserve(const std::vector<Item>& items) const {
    std::int64_t bytes = std::int64_t{1} << 17;
    for (const Item& item : items)
      bytes +=
          points() * item.field->options().components * static_cast<std::int64_t>(size_of(item.field->options().type));
    claim_disk(path, -1, bytes, "the next step of '" + path + "'");
    Hdf5Handle file = open_alone(path);
    for (const Item& item : items) {
      const std::string name = "/VTKHDF/PointData/" + item.name,
                        offsets = "/VTKHDF/Steps/PointDataOffsets/" + item.name;
      if (H5Lexists(file.get(), name.c_str(), H5P_DEFAULT) <= 0) {
        const int components = item.field->options().components;
        Hdf5Sizes sizes{0};
        if (components > 1) sizes.push_back(static_cast<hsize_t>(components));
        create_growing(file, name, hdf5_type(item.field->options().type), sizes, values_of_a_chunk);
        if (!item.unit.empty()) write_text_attribute(open_dataset(file, name), "unit", item.unit);
        create_growing(file, offsets, H5T_NATIVE_INT64, {0}, steps_of_a_chunk);
      }
      // The dataset may exist from a failed first step, or from a run that is continued.
      const Hdf5Handle dataset = open_dataset(file, name);
      const Hdf5Sizes sizes = sizes_of(dataset, name);
      require(type_of(dataset, name) == item.field->options().type &&
                  static_cast<int>(sizes.size() > 1 ? sizes[1] : 1) == item.field->options().components,
              ErrorCode::mismatch, "the field '" + item.name + "' of '" + path + "' has another type there",
              {{"file", path}, {"field", item.name}});
      grow(file, name, (steps + 1) * points());
    }
    finish(file, path);
  }
};

HexahedraSeries::HexahedraSeries(const Communicator& comm, std::string path, Mesh mesh, std::optional<double> up_to)
    : state_(new State{comm, std::move(path), std::move(mesh), {}}) {
  const QuietHdf5 quiet;
  State& s = *state_;
  bool made = false;
  on_rank_zero(comm, [&] {
    made = !up_to || !std::filesystem::exists(s.path);
    if (made) return s.create();
    try {
      s.go_on(*up_to);
    } catch (const Error& error) {
      throw Error(error.code() == ErrorCode::mismatch ? error.code() : ErrorCode::bad_file,
                  "cannot go on with '" + s.path + "': " + error.what() + "; write to another path",
                  joined(error.facts(), {{"file", s.path}}));
    }
  });
  std::int64_t found[3] = {s.steps, std::bit_cast<std::int64_t>(s.last_time), made};
  std::string bytes = comm.broadcast({reinterpret_cast<const char*>(found), sizeof found}, 0);
  std::memcpy(found, bytes.data(), sizeof found);
  s.steps = found[0];
  s.last_time = std::bit_cast<double>(found[1]);
  if (found[2] != 0) s.write_mesh();
}
HexahedraSeries::HexahedraSeries(HexahedraSeries&&) noexcept = default;
HexahedraSeries::~HexahedraSeries() = default;

void HexahedraSeries::write(double time, const std::vector<Item>& items) {
  const QuietHdf5 quiet;
  State& s = *state_;
  on_all_ranks(s.comm, [&] { s.check(time, items); });
  std::vector<ValueSource> sources;
  for (const Item& item : items) sources.push_back(s.source(item));
  on_rank_zero(s.comm, [&] { s.reserve(items); });
  s.write_values(sources);
  on_rank_zero(s.comm, [&] {
    Hdf5Handle file = open_alone(s.path);
    s.commit(file, time, items);
    finish(file, s.path);
  });
  s.shapes = State::shapes_of(items);
  s.last_time = time;
  ++s.steps;
}

double HexahedraSeries::last_time() const { return state_->last_time; }
void HexahedraSeries::close() { state_->closed = true; }

}  // namespace slipstream
