// Files of fields on high-order elements, written by all ranks.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include <slipstream/nek_file.hpp>
#include <slipstream/vtkhdf_hexahedra.hpp>

#include "support/expect_error.hpp"
#include "support/machine_rig.hpp"
#include "support/vtkhdf_reading.hpp"

namespace slipstream {
namespace {

using namespace testing_support;
namespace fs = std::filesystem;

class ElementFiles : public testing::Test {
 protected:
  static constexpr int order = 2;
  static constexpr std::int64_t cube = 27, elements = 7;

  ElementFiles()
      : comm(Communicator::world()),
        machine(machine_here(Backend::host, 1)),
        folder(comm.broadcast(comm.rank() == 0 ? make_folder() : std::string{}, 0)),
        grid({cube, elements, 1}, machine, comm.rank(), ranges()) {}
  ~ElementFiles() override {
    comm.barrier();
    if (comm.rank() == 0) fs::remove_all(folder);
  }

  /// Cuts the elements into two blocks per device, of which the first has a single element.
  GridOptions ranges() const {
    GridOptions options;
    for (int d = 0; d < machine.devices(); ++d) {
      const std::int64_t first = elements * d / machine.devices(), last = elements * (d + 1) / machine.devices();
      for (const auto& [low, high] : {std::pair{first, first + 1}, {first + 1, last}}) {
        if (high <= low) continue;
        Block block;
        block.box = {{0, low, 0}, {cube, high, 1}};
        block.device = d;
        options.boxes.push_back(block);
      }
    }
    return options;
  }
  Field made(DType type, int components, int step = 0) const {
    Field field(grid, {.name = "f", .type = type, .components = components});
    fill(field, step);
    return field;
  }
  static std::vector<std::array<double, 3>> places(std::int64_t element) {
    std::vector<std::array<double, 3>> all;
    for (int p = 0; p < cube; ++p)
      all.push_back({static_cast<double>(element) + p % 3 / 2.0, p / 3 % 3 / 2.0, p / 9 / 2.0});
    return all;
  }
  /// An identity matrix as interpolation, which leaves values unchanged.
  static std::vector<double> identity() { return {1, 0, 0, 0, 1, 0, 0, 0, 1}; }

  Communicator comm;
  Machine machine;
  std::string folder;
  Grid grid;
};

TEST_F(ElementFiles, HexahedraHaveScalarsAndVectorsOfBothTypes) {
  const std::string path = folder + "/fields.vtkhdf";
  HexahedraSeries series(comm, path, {order, elements, identity(), places});
  for (int step = 0; step < 2; ++step) {
    const Field scalar = made(DType::f64, 1, step), vector = made(DType::f64, 3, step),
                narrow = made(DType::f32, 3, step);
    series.write(step, {{"scalar", &scalar, "K"}, {"vector", &vector}, {"narrow", &narrow}});
  }
  const Field other = made(DType::f32, 1);
  expect_error(error_of([&] {
                 series.write(2, {{"scalar", &other}, {"vector", &other}, {"narrow", &other}});
               }),
               ErrorCode::mismatch, {{"file", path}, {"option", "items"}});
  comm.barrier();
  if (comm.rank() != 0) return;
  const Extent n{cube, elements, 1};
  EXPECT_EQ(read_dataset(path, "/VTKHDF/PointData/scalar").values, expected(n, 1, {0, 1}));
  EXPECT_EQ(read_dataset(path, "/VTKHDF/PointData/vector").values, expected(n, 3, {0, 1}));
  const ReadBack narrow = read_dataset(path, "/VTKHDF/PointData/narrow");
  EXPECT_EQ(narrow.values, expected(n, 3, {0, 1}));
  EXPECT_EQ(narrow.bytes_each, 4u);
  EXPECT_EQ(narrow.sizes, (std::vector<hsize_t>{2 * cube * elements, 3}));
  EXPECT_EQ(read_dataset(path, "/VTKHDF/Steps/PointDataOffsets/narrow").values,
            (std::vector<double>{0, cube * elements}));
  std::vector<double> all, offsets{0}, nodes;
  for (std::int64_t e = 0; e < elements; ++e) {
    for (const auto& place : places(e)) all.insert(all.end(), place.begin(), place.end());
    offsets.push_back(static_cast<double>((e + 1) * cube));
    for (const std::int64_t node : vtk_hexahedron_nodes(order)) nodes.push_back(static_cast<double>(e * cube + node));
  }
  EXPECT_EQ(read_dataset(path, "/VTKHDF/Points").values, all);
  EXPECT_EQ(read_dataset(path, "/VTKHDF/Offsets").values, offsets);
  EXPECT_EQ(read_dataset(path, "/VTKHDF/Connectivity").values, nodes);
  EXPECT_EQ(read_dataset(path, "/VTKHDF/Types").values, std::vector<double>(elements, 72));
}

TEST_F(ElementFiles, HexahedraRefuseAFieldOfTwoComponentsOrGivenTwice) {
  const std::string path = folder + "/fields.vtkhdf";
  HexahedraSeries series(comm, path, {order, elements, identity(), places});
  const Field two = made(DType::f64, 2), one = made(DType::f64, 1);
  expect_error(error_of([&] {
                 series.write(0, {{"two", &two}});
               }),
               ErrorCode::mismatch, {{"file", path}, {"field", "two"}});
  expect_error(error_of([&] {
                 series.write(0, {{"one", &one}, {"one", &one}});
               }),
               ErrorCode::invalid_argument, {{"file", path}, {"field", "one"}});
}

TEST_F(ElementFiles, NekFilesAreReadAsTheyWereWritten) {
  const Field velocity = made(DType::f64, 3), pressure = made(DType::f32, 1, 1), temperature = made(DType::f64, 1, 2),
              first = made(DType::f64, 1, 3), second = made(DType::f64, 1, 4);
  for (const int word : {4, 8}) {
    const std::string path = folder + "/x0.f0000" + std::to_string(word);
    write_nek_file(comm, path, 0.375, 12, word,
                   {order, elements, places, &velocity, &pressure, &temperature, {&first, &second}});
    comm.barrier();
    const NekFile file(path);
    EXPECT_EQ(file.order(), order);
    EXPECT_EQ(file.elements(), elements);
    EXPECT_EQ(file.word_bytes(), word);
    EXPECT_EQ(file.time(), 0.375);
    EXPECT_EQ(file.step(), 12);
    ASSERT_EQ(file.fields(), (std::vector<std::string>{"X", "U", "P", "T", "S01", "S02"}));
    for (std::int64_t e = 0; e < elements; ++e) {
      const std::vector<double> x = file.read("X", e), u = file.read("U", e);
      for (std::int64_t p = 0; p < cube; ++p)
        for (int c = 0; c < 3; ++c) {
          const auto at = static_cast<std::size_t>(c * cube + p);
          EXPECT_EQ(x[at], places(e)[static_cast<std::size_t>(p)][static_cast<std::size_t>(c)]);
          EXPECT_EQ(u[at], formula(p, e, 0, c, 0));
        }
      int step = 1;
      for (const char* name : {"P", "T", "S01", "S02"}) {
        const std::vector<double> values = file.read(name, e);
        for (std::int64_t p = 0; p < cube; ++p)
          EXPECT_EQ(values[static_cast<std::size_t>(p)], formula(p, e, 0, 0, step));
        ++step;
      }
    }
    expect_error(error_of([&] { file.read("S03", 0); }), ErrorCode::not_found,
                 {{"file", path}, {"field", "S03"}, {"choices", "X, U, P, T, S01, S02"}});
  }
}

TEST_F(ElementFiles, NekFilesEndInTheLeastAndLargestValuesOfEachElement) {
  const Field velocity = made(DType::f64, 3);
  const std::string path = folder + "/x0.f00000";
  write_nek_file(comm, path, 0, 0, 4, {order, elements, {}, &velocity});
  comm.barrier();
  std::ifstream file(path, std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(file), {}};
  ASSERT_EQ(all.size(), 136u + 4 * elements + 3 * 4 * elements * cube + 6 * 4 * elements);
  float bounds[6 * elements];
  std::memcpy(bounds, all.data() + all.size() - sizeof bounds, sizeof bounds);
  for (std::int64_t e = 0; e < elements; ++e)
    for (int c = 0; c < 3; ++c) {
      float least = 1e9f, largest = -1e9f;
      for (std::int64_t p = 0; p < cube; ++p) {
        least = std::min(least, static_cast<float>(formula(p, e, 0, c, 0)));
        largest = std::max(largest, static_cast<float>(formula(p, e, 0, c, 0)));
      }
      EXPECT_EQ(bounds[6 * e + 2 * c], least);
      EXPECT_EQ(bounds[6 * e + 2 * c + 1], largest);
    }
}

TEST_F(ElementFiles, NekFilesOfTheOtherOrderOfBytesAndOfOtherElementsAreReadAlike) {
  const Field scalar = made(DType::f64, 1);
  const std::string path = folder + "/x0.f00000", other = folder + "/y0.f00000";
  write_nek_file(comm, path, 1, 1, 8, {order, elements, {}, nullptr, nullptr, &scalar});
  comm.barrier();
  if (comm.rank() == 0) {
    std::ifstream in(path, std::ios::binary);
    std::string all{std::istreambuf_iterator<char>(in), {}};
    // Writes the file once more with the last element in front and the byte order of all numbers swapped.
    const std::size_t begin = 136 + 4 * elements, each = 8 * cube;
    std::string moved = all.substr(0, begin) + all.substr(begin + (elements - 1) * each, each) +
                        all.substr(begin, (elements - 1) * each) + all.substr(begin + elements * each);
    for (std::int32_t e = 0; e < elements; ++e) {
      const std::int32_t number = e == 0 ? static_cast<std::int32_t>(elements) : e;
      std::memcpy(moved.data() + 136 + 4 * e, &number, 4);
    }
    for (std::size_t at = 132; at < begin; at += 4) std::reverse(moved.data() + at, moved.data() + at + 4);
    for (std::size_t at = begin; at < begin + elements * each; at += 8)
      std::reverse(moved.data() + at, moved.data() + at + 8);
    std::ofstream(other, std::ios::binary) << moved;
  }
  comm.barrier();
  const NekFile one(path), two(other);
  for (std::int64_t e = 0; e < elements; ++e) EXPECT_EQ(one.read("T", e), two.read("T", e));
}

TEST_F(ElementFiles, NekFilesThatCannotBeMadeAreAnErrorOnAllRanks) {
  const Field scalar = made(DType::f64, 1);
  const std::string path = folder + "/none/x0.f00000";
  expect_error(error_of([&] {
                 write_nek_file(comm, path, 0, 0, 8, {order, elements, {}, nullptr, nullptr, &scalar});
               }),
               ErrorCode::io, {{"file", path}});
  expect_error(error_of([&] {
                 write_nek_file(comm, path, 0, 0, 2, {order, elements, {}, nullptr, nullptr, &scalar});
               }),
               ErrorCode::invalid_argument, {{"option", "word_bytes"}, {"given", 2}});
  expect_error(error_of([&] {
                 write_nek_file(comm, path, 0, 0, 8, {order, elements, {}, &scalar});
               }),
               ErrorCode::mismatch, {{"file", path}, {"field", "U"}});
}

}  // namespace
}  // namespace slipstream
