#include <slipstream/vtkhdf.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <limits>

#include "io/pieces.hpp"
#include "support/expect_error.hpp"
#include "support/machine_rig.hpp"
#include "support/vtkhdf_reading.hpp"

namespace slipstream {
namespace {

using namespace testing_support;
namespace fs = std::filesystem;

class Vtkhdf : public testing::Test {
 protected:
  Vtkhdf() : comm(Communicator::world()), folder(make_folder()), path(folder + "/out.vtkhdf") {
    Machine::Options options;
    options.devices_per_rank = 2;
    options.bind = false;
    machine.push_back(Machine::discover(comm, options));
  }
  ~Vtkhdf() override { fs::remove_all(folder); }

  Grid grid(const Extent& extent) const {
    GridOptions options;
    options.partition.blocks_per_device = {2, 2, 1};
    return Grid(extent, machine[0], 0, options);
  }

  Communicator comm;
  std::string folder;
  std::string path;
  std::vector<Machine> machine;  // a vector of one element, because Machine has no empty state
};

TEST(Pieces, CoverEveryCellOnceWithinTheLimit) {
  const Box box{{2, -1, 3}, {9, 4, 8}};
  for (const std::int64_t limit : {1, 8, 24, 56, 60, 280, 300, 1400, 100000}) {
    std::vector<int> hits(box.volume(), 0);
    for (const Box& piece : cut_into_pieces(box, 8, limit)) {
      EXPECT_LE(piece.volume() * 8, std::max<std::int64_t>(limit, 8));
      for (auto z = piece.lo[2]; z < piece.hi[2]; ++z)
        for (auto y = piece.lo[1]; y < piece.hi[1]; ++y)
          for (auto x = piece.lo[0]; x < piece.hi[0]; ++x)
            ++hits.at(((z - box.lo[2]) * box.extent(1) + y - box.lo[1]) * box.extent(0) + x - box.lo[0]);
    }
    EXPECT_EQ(hits, std::vector<int>(box.volume(), 1)) << "limit " << limit;
  }
}

TEST(Pieces, OfAnEmptyBoxAreNone) { EXPECT_TRUE(cut_into_pieces({{0, 0, 0}, {4, 0, 4}}, 4, 100).empty()); }

TEST_F(Vtkhdf, HoldsEveryValueOfEveryStepInTheFieldsOwnType) {
  struct Kind {
    DType type;
    H5T_class_t kind;
  };
  int run = 0;
  for (const Extent extent : {Extent{12, 9, 1}, Extent{11, 6, 5}})
    for (const Kind& k : {Kind{DType::f32, H5T_FLOAT}, Kind{DType::f64, H5T_FLOAT}, Kind{DType::u8, H5T_INTEGER}})
      for (const int components : {1, 3})
        for (const Layout layout : {Layout::soa, Layout::aos, Layout::soa_z})
          for (const bool collect : {false, true}) {
            SCOPED_TRACE(to_string(k.type) + " x " + std::to_string(components) + " " + to_string(layout) +
                         (collect ? " collected" : "") + (extent[2] == 1 ? " 2-D" : " 3-D"));
            const Grid g = grid(extent);
            Field field(g,
                        {.name = "f", .type = k.type, .components = components, .ghost = {1, 1, 0}, .layout = layout});
            const std::string file = folder + "/" + std::to_string(run++) + ".vtkhdf";
            VtkhdfSeries series(comm, g, file, {.collect = collect, .piece_bytes = 100});
            for (int step = 0; step < 3; ++step) {
              fill(field, step);
              series.write(0.5 * step, {{"q", &field}});
            }
            const ReadBack read = read_dataset(file, "/VTKHDF/CellData/q");
            std::vector<hsize_t> sizes{3, static_cast<hsize_t>(extent[2]), static_cast<hsize_t>(extent[1]),
                                       static_cast<hsize_t>(extent[0])};
            if (components > 1) sizes.push_back(components);
            EXPECT_EQ(read.sizes, sizes);
            EXPECT_EQ(read.kind, k.kind);
            EXPECT_EQ(read.bytes_each, size_of(k.type));
            EXPECT_EQ(read.values, expected(extent, components, {0, 1, 2}));
          }
}

TEST_F(Vtkhdf, DescribesTheGridAsVtkReadsIt) {
  const Grid g = grid({8, 6, 4});
  VtkhdfSeries series(comm, g, path, {.origin = {1, 2, 3}, .spacing = {0.5, 0.25, 0.125}});
  const auto attribute = [&](const char* name) { return read_attribute(path, "/VTKHDF", name); };
  EXPECT_EQ(attribute("Version"), (std::vector<double>{2, 0}));
  EXPECT_EQ(attribute("WholeExtent"), (std::vector<double>{0, 8, 0, 6, 0, 4}));
  EXPECT_EQ(attribute("Origin"), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(attribute("Spacing"), (std::vector<double>{0.5, 0.25, 0.125}));
  EXPECT_EQ(attribute("Direction"), (std::vector<double>{1, 0, 0, 0, 1, 0, 0, 0, 1}));
}

TEST_F(Vtkhdf, NamesItsTypeInAFixedAsciiString) {
  const Grid g = grid({8, 6, 4});
  VtkhdfSeries series(comm, g, path, {});
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t attribute = H5Aopen_by_name(file, "/VTKHDF", "Type", H5P_DEFAULT, H5P_DEFAULT);
  const hid_t type = H5Aget_type(attribute);
  std::string value(H5Tget_size(type), ' ');
  EXPECT_EQ(H5Tis_variable_str(type), 0);
  EXPECT_EQ(H5Tget_cset(type), H5T_CSET_ASCII);
  EXPECT_GE(H5Aread(attribute, type, value.data()), 0);
  EXPECT_EQ(value, "ImageData");
  H5Tclose(type);
  H5Aclose(attribute);
  H5Fclose(file);
}

TEST_F(Vtkhdf, IsCompleteAfterEveryStep) {
  const Grid g = grid({8, 6, 4});
  Field field(g, {.name = "f", .type = DType::f64});
  VtkhdfSeries series(comm, g, path, {});
  std::vector<double> times;
  std::vector<int> steps;
  for (int step = 0; step < 3; ++step) {
    fill(field, step);
    series.write(2.5 * step, {{"q", &field}});
    times.push_back(2.5 * step);
    steps.push_back(step);
    EXPECT_EQ(read_attribute(path, "/VTKHDF/Steps", "NSteps"), std::vector<double>{1.0 + step});
    EXPECT_EQ(read_dataset(path, "/VTKHDF/Steps/Values").values, times);
    EXPECT_EQ(read_dataset(path, "/VTKHDF/CellData/q").values, expected(g.extent(), 1, steps));
  }
}

TEST_F(Vtkhdf, ShowsASingleStepWithoutAnAxisOfTimeAsVtkWantsIt) {
  const Grid g = grid({8, 6, 4});
  Field scalar(g, {.name = "f", .type = DType::f32}), vector(g, {.name = "f", .type = DType::f64, .components = 3});
  fill(scalar, 1);
  fill(vector, 2);
  VtkhdfSeries series(comm, g, path, {});
  series.write(0, {{"scalar", &scalar}, {"vector", &vector}});
  const ReadBack s = read_dataset(path, "/VTKHDF/CellData/scalar"), v = read_dataset(path, "/VTKHDF/CellData/vector");
  EXPECT_EQ(s.sizes, (std::vector<hsize_t>{4, 6, 8}));
  EXPECT_EQ(v.sizes, (std::vector<hsize_t>{4, 6, 8, 3}));
  EXPECT_EQ(s.values, expected(g.extent(), 1, {1}));
  EXPECT_EQ(v.values, expected(g.extent(), 3, {2}));
}

TEST_F(Vtkhdf, KeepsTheLastValuesOfAFieldThatAStepLeavesOut) {
  const Grid g = grid({8, 6, 4});
  Field q(g, {.name = "f", .type = DType::f32}), flags(g, {.name = "f", .type = DType::u8});
  fill(q, 0);
  fill(flags, 4);
  VtkhdfSeries series(comm, g, path, {});
  series.write(0, {{"flags", &flags}, {"q", &q}});
  series.write(1, {{"q", &q}});
  fill(flags, 5);
  series.write(2, {{"q", &q}, {"flags", &flags}});
  EXPECT_EQ(read_dataset(path, "/VTKHDF/CellData/flags").values, expected(g.extent(), 1, {4, 5}));
  EXPECT_EQ(read_dataset(path, "/VTKHDF/Steps/CellDataOffsets/flags").values, (std::vector<double>{0, 0, 1}));
  EXPECT_EQ(read_dataset(path, "/VTKHDF/Steps/CellDataOffsets/q").values, (std::vector<double>{0, 1, 2}));
}

TEST_F(Vtkhdf, ScalesFloatsToPhysicalUnits) {
  const Grid g = grid({8, 6, 4});
  Field single(g, {.name = "f", .type = DType::f32}), twice(g, {.name = "f", .type = DType::f64});
  fill(single, 0);
  fill(twice, 0);
  VtkhdfSeries series(comm, g, path, {});
  series.write(0, {{"single", &single, 0.25}, {"double", &twice, -4}});
  EXPECT_EQ(read_dataset(path, "/VTKHDF/CellData/single").values, expected(g.extent(), 1, {0}, 0.25));
  EXPECT_EQ(read_dataset(path, "/VTKHDF/CellData/double").values, expected(g.extent(), 1, {0}, -4));
}

TEST_F(Vtkhdf, DerivesValuesOfEveryCellFromThoseOfItsField) {
  const Grid g = grid({8, 6, 4});
  Field field(g, {.name = "f", .type = DType::f32});
  fill(field, 0);
  const auto halve = [](const Box& box, void* values) {
    for (std::int64_t i = 0; i < box.volume(); ++i) static_cast<float*>(values)[i] *= 0.5F;
  };
  for (const bool collect : {false, true}) {
    VtkhdfSeries series(comm, g, path, {.overwrite = true, .collect = collect, .piece_bytes = 100});
    series.write(0, {{"q", &field}, {"half", &field, 1, "", halve}, {"quarter", &field, 0.5, "", halve}});
    EXPECT_EQ(read_dataset(path, "/VTKHDF/CellData/q").values, expected(g.extent(), 1, {0}));
    EXPECT_EQ(read_dataset(path, "/VTKHDF/CellData/half").values, expected(g.extent(), 1, {0}, 0.5));
    EXPECT_EQ(read_dataset(path, "/VTKHDF/CellData/quarter").values, expected(g.extent(), 1, {0}, 0.25));
  }
}

TEST_F(Vtkhdf, KeepsTheUnitOfAFieldAsAnAttribute) {
  const Grid g = grid({8, 6, 4});
  Field with(g, {.name = "f", .type = DType::f32}), without(g, {.name = "f", .type = DType::f32});
  fill(with, 0);
  fill(without, 0);
  VtkhdfSeries series(comm, g, path, {});
  series.write(0, {{"with", &with, 1, "m/s"}, {"without", &without}});
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  EXPECT_EQ(H5Aexists_by_name(file, "/Series/without", "unit", H5P_DEFAULT), 0);
  const hid_t attribute = H5Aopen_by_name(file, "/Series/with", "unit", H5P_DEFAULT, H5P_DEFAULT);
  const hid_t type = H5Aget_type(attribute);
  std::string value(H5Tget_size(type), ' ');
  EXPECT_GE(H5Aread(attribute, type, value.data()), 0);
  EXPECT_EQ(value, "m/s");
  H5Tclose(type);
  H5Aclose(attribute);
  H5Fclose(file);
}

TEST_F(Vtkhdf, RefusesPathsThatItCannotWrite) {
  const Grid g = grid({8, 6, 4});
  std::ofstream(folder + "/plain") << "text";
  const auto refused = [&](const std::string& bad, ErrorCode code) {
    expect_error([&] { VtkhdfSeries(comm, g, bad, {.overwrite = true}); }, code, {{"file", bad}});
  };
  refused(folder + "/plain/out.vtkhdf", ErrorCode::not_found);
  refused(folder + "/none/out.vtkhdf", ErrorCode::not_found);
  for (const std::string& bad : {folder, std::string("/proc/out.vtkhdf"), std::string("/dev/null")})
    refused(bad, ErrorCode::io);
  expect_error([&] { VtkhdfSeries(comm, g, "", {.overwrite = true}); }, ErrorCode::invalid_argument,
               {{"option", "path"}});
  EXPECT_TRUE(fs::exists("/dev/null"));
}

TEST_F(Vtkhdf, LeavesAnExistingFileAloneUnlessToldToReplaceIt) {
  const Grid g = grid({8, 6, 4});
  std::ofstream(path) << "precious";
  expect_error([&] { VtkhdfSeries(comm, g, path, {}); }, ErrorCode::io, {{"file", path}, {"problem", "exists"}});
  EXPECT_EQ(fs::file_size(path), 8u);
  VtkhdfSeries series(comm, g, path, {.overwrite = true});
  EXPECT_EQ(read_attribute(path, "/VTKHDF/Steps", "NSteps"), std::vector<double>{0});
}

TEST_F(Vtkhdf, GoesOnBehindTheStepsUpToATime) {
  const Grid g = grid({8, 6, 4});
  Field q(g, {.name = "q", .type = DType::f64}), flags(g, {.name = "flags", .type = DType::u8});
  for (const int kept : {0, 1, 2, 3}) {
    SCOPED_TRACE(kept);
    VtkhdfSeries before(comm, g, path, {.overwrite = true});
    before.write(1, {{"q", &q}, {"flags", &flags}});
    for (const double time : {2.0, 3.0}) before.write(time, {{"q", &q}});
    VtkhdfSeries series(comm, g, path, {.up_to = kept + 0.5});
    EXPECT_EQ(series.steps(), kept);
    EXPECT_EQ(read_attribute(path, "/VTKHDF/Steps", "NSteps"), std::vector<double>{static_cast<double>(kept)});
    if (kept == 0) {
      EXPECT_EQ(series.last_time(), -std::numeric_limits<double>::infinity());
      series.write(9, {{"q", &q}, {"flags", &flags}});
    } else {
      EXPECT_EQ(series.last_time(), kept);
      expect_error(
          [&] {
            series.write(kept, {{"q", &q}});
          },
          ErrorCode::wrong_state, {{"option", "time"}, {"given", kept}, {"last", kept}});
      expect_error(
          [&] {
            series.write(9, {{"q", &flags}});
          },
          ErrorCode::mismatch, {{"field", "q"}, {"option", "type"}});
      series.write(9, {{"q", &q}});
    }
    EXPECT_EQ(read_attribute(path, "/VTKHDF/Steps", "NSteps"), std::vector<double>{kept + 1.0});
  }
}

TEST_F(Vtkhdf, LeavesAFileAsItIsThatItCannotGoOnWith) {
  const Grid g = grid({8, 6, 4}), other = grid({8, 6, 5});
  { VtkhdfSeries series(comm, other, path, {}); }
  expect_error([&] { VtkhdfSeries(comm, g, path, {.up_to = 1}); }, ErrorCode::mismatch,
               {{"file", path}, {"option", "grid"}});
  EXPECT_EQ(read_attribute(path, "/VTKHDF/Steps", "NSteps"), std::vector<double>{0});
  std::ofstream(path, std::ios::trunc) << "precious";
  expect_error([&] { VtkhdfSeries(comm, g, path, {.up_to = 1}); }, ErrorCode::bad_file, {{"file", path}});
  EXPECT_EQ(fs::file_size(path), 8u);
}

TEST_F(Vtkhdf, RefusesStepsThatMakeNoSenseAndWritesNothing) {
  const Grid g = grid({8, 6, 4}), other = grid({8, 6, 5});
  Field q(g, {.name = "f", .type = DType::f32}), flags(g, {.name = "f", .type = DType::u8}),
      wrong(other, {.name = "f", .type = DType::f32});
  VtkhdfSeries series(comm, g, path, {});
  series.write(1, {{"q", &q}, {"flags", &flags}});
  struct Case {
    double time;
    std::vector<VtkhdfSeries::Item> items;
    ErrorCode code;
    Facts facts;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  using enum ErrorCode;
  for (const Case& c : {Case{2, {}, invalid_argument, {{"option", "items"}}},
                        Case{1, {{"q", &q}}, wrong_state, {{"option", "time"}, {"given", 1}, {"last", 1}}},
                        Case{nan, {{"q", &q}}, wrong_state, {{"option", "time"}, {"given", nan}}},
                        Case{2, {{"q", nullptr}}, invalid_argument, {{"field", "q"}, {"option", "field"}}},
                        Case{2, {{"a/b", &q}}, invalid_argument, {{"field", "a/b"}, {"option", "name"}}},
                        Case{2, {{"q", &wrong}}, mismatch, {{"field", "q"}, {"option", "grid"}}},
                        Case{2, {{"flags", &flags, 2}}, unsupported, {{"field", "flags"}, {"option", "scale"}}},
                        Case{2, {{"q", &q}, {"q", &q}}, invalid_argument, {{"field", "q"}, {"option", "items"}}},
                        Case{2, {{"new", &q}}, mismatch, {{"field", "new"}, {"option", "items"}}},
                        Case{2, {{"q", &flags}}, mismatch, {{"field", "q"}, {"option", "type"}}},
                        Case{2, {{"q", &q, nan}}, invalid_argument, {{"field", "q"}, {"option", "scale"}}}})
    expect_error([&] { series.write(c.time, c.items); }, c.code, c.facts);
  series.close();
  expect_error([&] { series.write(2, {{"q", &q}}); }, ErrorCode::wrong_state, {{"file", path}, {"problem", "closed"}});
  EXPECT_EQ(read_attribute(path, "/VTKHDF/Steps", "NSteps"), std::vector<double>{1});
}

TEST_F(Vtkhdf, RefusesOptionsThatMakeNoSense) {
  const Grid g = grid({8, 6, 4});
  expect_error(
      [&] {
        VtkhdfSeries(comm, g, path, {.spacing = {1, 1, 0}});
      },
      ErrorCode::invalid_argument, {{"option", "spacing"}, {"given", 0}});
  expect_error([&] { VtkhdfSeries(comm, g, path, {.piece_bytes = 0}); }, ErrorCode::invalid_argument,
               {{"option", "piece_bytes"}, {"given", 0}});
  EXPECT_FALSE(fs::exists(path));
}

/// Limits the file size of the process: a write beyond it fails as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit now{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &now);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_;
  void (*handler_)(int);
};

TEST_F(Vtkhdf, KeepsEarlierStepsWhereTheDiskIsFullAndGoesOnWhenThereIsSpace) {
  for (const bool collect : {false, true}) {
    const Grid g = grid({64, 64, 32});
    Field q(g, {.name = "f", .type = DType::f64});
    VtkhdfSeries series(comm, g, path, {.overwrite = true, .collect = collect});
    fill(q, 0);
    series.write(0, {{"q", &q}});
    const auto before = fs::file_size(path);
    fill(q, 1);
    {
      const FileSizeLimit limit(before + 4096);
      const auto error = error_of([&] { series.write(1, {{"q", &q}}); });
      expect_error(error, ErrorCode::io, {{"file", path}});
      EXPECT_GE(std::stoll(error->fact("needed")), 64 * 64 * 32 * 8);
      EXPECT_NE(error->fact("available"), "");
    }
    EXPECT_EQ(fs::file_size(path), before);
    EXPECT_EQ(read_attribute(path, "/VTKHDF/Steps", "NSteps"), std::vector<double>{1});
    EXPECT_EQ(read_dataset(path, "/VTKHDF/CellData/q").values, expected(g.extent(), 1, {0}));
    series.write(1, {{"q", &q}});
    EXPECT_EQ(read_dataset(path, "/VTKHDF/CellData/q").values, expected(g.extent(), 1, {0, 1}));
  }
}

TEST_F(Vtkhdf, LetsAFirstStepThatFailedBeTriedAgainWithOtherFields) {
  const Grid g = grid({64, 64, 32});
  Field scalar(g, {.name = "f", .type = DType::f64}), vector(g, {.name = "f", .type = DType::f32, .components = 3});
  fill(vector, 2);
  VtkhdfSeries series(comm, g, path, {});
  {
    const FileSizeLimit limit(fs::file_size(path) + 4096);
    expect_error([&] { series.write(0, {{"q", &scalar}}); }, ErrorCode::io, {{"file", path}});
  }
  series.write(0, {{"q", &vector}});
  EXPECT_EQ(read_dataset(path, "/VTKHDF/CellData/q").values, expected(g.extent(), 3, {2}));
}

TEST_F(Vtkhdf, WritesWhileAViewerHoldsTheFileLocked) {
  const Grid g = grid({8, 6, 4});
  Field q(g, {.name = "f", .type = DType::f32});
  VtkhdfSeries series(comm, g, path, {});
  const int viewer = ::open(path.c_str(), O_RDONLY);
  ASSERT_EQ(::flock(viewer, LOCK_SH), 0);
  EXPECT_FALSE(error_of([&] { series.write(0, {{"q", &q}}); }));
  ::close(viewer);
}

TEST_F(Vtkhdf, LeavesNoLockBehindForViewers) {
  const Grid g = grid({8, 6, 4});
  Field q(g, {.name = "f", .type = DType::f32});
  VtkhdfSeries series(comm, g, path, {});
  series.write(0, {{"q", &q}});
  const int viewer = ::open(path.c_str(), O_RDONLY);
  EXPECT_EQ(::flock(viewer, LOCK_EX | LOCK_NB), 0);
  ::close(viewer);
}

TEST_F(Vtkhdf, PrintsNothingOfHdf5AndGivesItsErrorHandlerBack) {
  const Grid g = grid({8, 6, 4});
  Field q(g, {.name = "f", .type = DType::f32});
  H5E_auto2_t before = nullptr, after = nullptr;
  void *data_before = nullptr, *data_after = nullptr;
  H5Eget_auto2(H5E_DEFAULT, &before, &data_before);
  ASSERT_NE(before, nullptr);
  VtkhdfSeries series(comm, g, path, {});
  std::ofstream(path, std::ios::trunc) << "no longer HDF5";
  testing::internal::CaptureStderr();
  const auto error = error_of([&] { series.write(0, {{"q", &q}}); });
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  expect_error(error, ErrorCode::io, {{"file", path}});
  H5Eget_auto2(H5E_DEFAULT, &after, &data_after);
  EXPECT_EQ(before, after);
  EXPECT_EQ(data_before, data_after);
}

}  // namespace
}  // namespace slipstream
