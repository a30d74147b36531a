#include <slipstream/vtkhdf_hexahedra.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

#include <slipstream/error.hpp>
#include <slipstream/gather.hpp>

#include "io/hdf5/hdf5_file.hpp"
#include "io/vtkhdf/vtkhdf_steps.hpp"
#include "machine/agree.hpp"

namespace slipstream {
namespace {

constexpr std::uint8_t lagrange_hexahedron = 72;  // VTK_LAGRANGE_HEXAHEDRON
constexpr std::int64_t values_of_a_piece = std::int64_t{1} << 21, values_of_a_chunk = std::int64_t{1} << 17;
constexpr hsize_t steps_of_a_chunk = 256;

/// A dataset whose first axis grows.
void create_growing(const Hdf5Handle& file, const std::string& name, hid_t type, Hdf5Sizes sizes, hsize_t chunk) {
  const auto rank = static_cast<int>(sizes.size());
  Hdf5Sizes most = sizes, chunks = sizes;
  most[0] = H5S_UNLIMITED;
  chunks[0] = chunk;
  const Hdf5Handle space(H5Screate_simple(rank, sizes.data(), most.data()), H5Sclose, "sizing the dataset " + name);
  const Hdf5Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "making HDF5 properties");
  hdf5_check(H5Pset_chunk(properties.get(), rank, chunks.data()), "sizing the chunks of " + name);
  hdf5_check(H5Pset_fill_time(properties.get(), H5D_FILL_TIME_NEVER), "allocating " + name);
  Hdf5Handle(H5Dcreate2(file.get(), name.c_str(), type, space.get(), H5P_DEFAULT, properties.get(), H5P_DEFAULT),
             H5Dclose, "making the dataset " + name);
}

/// Rows [first, first + rows) along the first axis, which grows where it must.
void write_rows(const Hdf5Handle& file, const std::string& name, hid_t type, std::int64_t first, std::int64_t rows,
                const void* values) {
  const Hdf5Handle dataset = open_dataset(file, name);
  Hdf5Handle space(H5Dget_space(dataset.get()), H5Sclose, "reading the size of " + name);
  Hdf5Sizes count(static_cast<std::size_t>(H5Sget_simple_extent_ndims(space.get())));
  hdf5_check(H5Sget_simple_extent_dims(space.get(), count.data(), nullptr), "reading the size of " + name);
  if (count[0] < static_cast<hsize_t>(first + rows)) {
    count[0] = static_cast<hsize_t>(first + rows);
    hdf5_check(H5Dset_extent(dataset.get(), count.data()), "growing the dataset " + name);
    space = Hdf5Handle(H5Dget_space(dataset.get()), H5Sclose, "reading the size of " + name);
  }
  Hdf5Sizes start(count.size(), 0);
  start[0] = static_cast<hsize_t>(first);
  count[0] = static_cast<hsize_t>(rows);
  hdf5_check(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr),
             "selecting in " + name);
  const Hdf5Handle memory(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr), H5Sclose,
                          "sizing a piece of " + name);
  hdf5_check(H5Dwrite(dataset.get(), type, memory.get(), space.get(), H5P_DEFAULT, values), "writing " + name);
}

/// (E x E x E) values: from an element's nodes to equidistant ones, axis by axis; `stride` numbers lie between values.
void to_even_nodes(const std::vector<double>& e, std::size_t n, const double* from, std::size_t stride, double* to) {
  const std::size_t cube = n * n * n;
  std::vector<double> now(cube), next(cube);
  for (std::size_t p = 0; p < cube; ++p) now[p] = from[p * stride];
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
  for (std::size_t p = 0; p < cube; ++p) to[p * stride] = now[p];
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
  // Edges: round the lower face and the upper one, those along x from low to high, then those along z.
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
  std::vector<std::string> names;
  std::int64_t steps = 0;
  double last_time = -std::numeric_limits<double>::infinity();
  bool closed = false;

  std::size_t edge() const { return static_cast<std::size_t>(mesh.order) + 1; }
  std::int64_t cube() const { return static_cast<std::int64_t>(edge() * edge() * edge()); }
  std::int64_t points() const { return mesh.elements * cube(); }

  /// Calls work(first, last) for ranges of elements.
  template <class Work>
  void by_pieces(const Work& work) const {
    const std::int64_t most = std::max<std::int64_t>(1, values_of_a_piece / cube());
    for (std::int64_t first = 0; first < mesh.elements; first += most)
      work(first, std::min(first + most, mesh.elements));
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
      write_rows(file, where, H5T_NATIVE_INT64, 0, 1, &count);
    }
    create_growing(file, "/VTKHDF/Points", H5T_NATIVE_DOUBLE, {0, 3}, values_of_a_chunk);
    create_growing(file, "/VTKHDF/Connectivity", H5T_NATIVE_INT64, {0}, values_of_a_chunk);
    create_growing(file, "/VTKHDF/Offsets", H5T_NATIVE_INT64, {0}, values_of_a_chunk);
    create_growing(file, "/VTKHDF/Types", H5T_NATIVE_UINT8, {0}, values_of_a_chunk);
    by_pieces([&](std::int64_t first, std::int64_t last) { write_mesh(file, first, last); });
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
            ErrorCode::mismatch, "its elements are other ones", {{"option", "elements"}});
    const VtkhdfSteps kept = keep_steps(file, up_to);
    steps = kept.count;
    last_time = kept.last_time;
    finish(file, path);
  }

  void write_mesh(const Hdf5Handle& file, std::int64_t first, std::int64_t last) const {
    const std::vector<std::int64_t> nodes = vtk_hexahedron_nodes(mesh.order);
    const std::size_t n = edge();
    std::vector<double> places;
    std::vector<std::int64_t> connectivity, offsets;
    if (first == 0) offsets.push_back(0);
    for (std::int64_t e = first; e < last; ++e) {
      const auto there = mesh.places(e);
      const std::size_t begin = places.size();
      places.resize(begin + 3 * there.size());
      for (std::size_t d = 0; d < 3; ++d)
        to_even_nodes(mesh.to_even, n, there.data()->data() + d, 3, places.data() + begin + d);
      for (const std::int64_t node : nodes) connectivity.push_back(e * cube() + node);
      offsets.push_back((e + 1) * cube());
    }
    const std::vector<std::uint8_t> types(static_cast<std::size_t>(last - first), lagrange_hexahedron);
    const std::int64_t points = (last - first) * cube();
    write_rows(file, "/VTKHDF/Points", H5T_NATIVE_DOUBLE, first * cube(), points, places.data());
    write_rows(file, "/VTKHDF/Connectivity", H5T_NATIVE_INT64, first * cube(), points, connectivity.data());
    write_rows(file, "/VTKHDF/Offsets", H5T_NATIVE_INT64, first == 0 ? 0 : first + 1,
               static_cast<std::int64_t>(offsets.size()), offsets.data());
    write_rows(file, "/VTKHDF/Types", H5T_NATIVE_UINT8, first, last - first, types.data());
  }

  void check(double time, const std::vector<Item>& items) const {
    require(!closed, ErrorCode::wrong_state, "'" + path + "' is closed: write before close()",
            {{"file", path}, {"problem", "closed"}});
    require(std::isfinite(time) && time > last_time, ErrorCode::wrong_state,
            "times of '" + path + "' must grow: " + std::to_string(time) + " follows " + std::to_string(last_time),
            {{"file", path}, {"option", "time"}, {"given", time}, {"last", last_time}});
    std::vector<std::string> now;
    for (const Item& item : items) {
      const Extent wanted{cube(), mesh.elements, 1};
      require(item.field && item.field->grid().extent() == wanted && item.field->options().components == 1 &&
                  item.field->options().type == DType::f64,
              ErrorCode::mismatch,
              "the field '" + item.name + "' of '" + path + "' is not of f64 on the nodes of the elements",
              {{"file", path}, {"field", item.name}});
      now.push_back(item.name);
    }
    require(names.empty() || now == names, ErrorCode::mismatch,
            "a step of '" + path + "' has other fields than the first", {{"file", path}, {"option", "items"}});
  }

  /// Values of a field behind those of earlier steps; collective.
  void write_values(const Hdf5Handle& file, const Item& item, Problem& failure) const {
    const std::string name = "/VTKHDF/PointData/" + item.name;
    by_pieces([&](std::int64_t first, std::int64_t last) {
      std::vector<std::byte> bytes = gather(comm, *item.field, {{0, first, 0}, {cube(), last, 1}});
      if (comm.rank() != 0) return;
      std::vector<double> values(bytes.size() / sizeof(double));
      std::memcpy(values.data(), bytes.data(), bytes.size());
      for (std::int64_t e = 0; e < last - first; ++e)
        to_even_nodes(mesh.to_even, edge(), values.data() + e * cube(), 1, values.data() + e * cube());
      attempt(failure, [&] {
        write_rows(file, name, H5T_NATIVE_DOUBLE, steps * points() + first * cube(), (last - first) * cube(),
                   values.data());
      });
    });
  }

  /// Makes a step whose values are written visible to readers.
  void commit(const Hdf5Handle& file, double time, const std::vector<Item>& items) const {
    const std::int64_t none = 0, one = 1, begin = steps * points();
    const std::string where = "/VTKHDF/Steps/";
    write_rows(file, where + "Values", H5T_NATIVE_DOUBLE, steps, 1, &time);
    write_rows(file, where + "NumberOfParts", H5T_NATIVE_INT64, steps, 1, &one);
    for (const char* name : {"PartOffsets", "PointOffsets", "CellOffsets", "ConnectivityIdOffsets"})
      write_rows(file, where + name, H5T_NATIVE_INT64, steps, 1, &none);
    for (const Item& item : items)
      write_rows(file, where + "PointDataOffsets/" + item.name, H5T_NATIVE_INT64, steps, 1, &begin);
    // The count goes last, behind all that it promises.
    hdf5_check(H5Fflush(file.get(), H5F_SCOPE_GLOBAL), "writing '" + path + "'");
    write_step_count(file, steps + 1);
  }

  void begin_fields(const Hdf5Handle& file, const std::vector<Item>& items) const {
    for (const Item& item : items) {
      const std::string name = "/VTKHDF/PointData/" + item.name;
      if (H5Lexists(file.get(), name.c_str(), H5P_DEFAULT) > 0) continue;  // of a first step that failed half-way
      create_growing(file, name, H5T_NATIVE_DOUBLE, {0}, values_of_a_chunk);
      if (!item.unit.empty()) write_text_attribute(open_dataset(file, name), "unit", item.unit);
      create_growing(file, "/VTKHDF/Steps/PointDataOffsets/" + item.name, H5T_NATIVE_INT64, {0}, steps_of_a_chunk);
    }
  }
};

HexahedraSeries::HexahedraSeries(const Communicator& comm, std::string path, Mesh mesh, std::optional<double> up_to)
    : state_(new State{comm, std::move(path), std::move(mesh), {}}) {
  const QuietHdf5 quiet;
  State& s = *state_;
  on_rank_zero(comm, [&] {
    if (!up_to || !std::filesystem::exists(s.path)) return s.create();
    try {
      s.go_on(*up_to);
    } catch (const Error& error) {
      throw Error(error.code() == ErrorCode::mismatch ? error.code() : ErrorCode::bad_file,
                  "cannot go on with '" + s.path + "': " + error.what() + "; write to another path",
                  joined(error.facts(), {{"file", s.path}}));
    }
  });
  std::int64_t found[2] = {s.steps, std::bit_cast<std::int64_t>(s.last_time)};
  std::string bytes = comm.broadcast({reinterpret_cast<const char*>(found), sizeof found}, 0);
  std::memcpy(found, bytes.data(), sizeof found);
  s.steps = found[0];
  s.last_time = std::bit_cast<double>(found[1]);
}
HexahedraSeries::HexahedraSeries(HexahedraSeries&&) noexcept = default;
HexahedraSeries::~HexahedraSeries() = default;

void HexahedraSeries::write(double time, const std::vector<Item>& items) {
  const QuietHdf5 quiet;
  State& s = *state_;
  on_all_ranks(s.comm, [&] { s.check(time, items); });
  Hdf5Handle file;
  on_rank_zero(s.comm, [&] {
    const auto bytes = static_cast<std::int64_t>(items.size()) * s.points() * 8;
    claim_disk(s.path, -1, bytes + (std::int64_t{1} << 17), "the next step of '" + s.path + "'");
    file = open_alone(s.path);
    s.begin_fields(file, items);
  });
  Problem failure;
  for (const Item& item : items) s.write_values(file, item, failure);
  if (s.comm.rank() == 0 && !failure)
    attempt(failure, [&] {
      s.commit(file, time, items);
      finish(file, s.path);
    });
  agree(s.comm, failure);
  s.names.clear();
  for (const Item& item : items) s.names.push_back(item.name);
  s.last_time = time;
  ++s.steps;
}

double HexahedraSeries::last_time() const { return state_->last_time; }
void HexahedraSeries::close() { state_->closed = true; }

}  // namespace slipstream
