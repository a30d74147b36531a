// Fields on memory of the caller.
#include <gtest/gtest.h>

#include <slipstream/exchange.hpp>

#include "support/exchange_rig.hpp"
#include "support/expect_error.hpp"

namespace slipstream {
namespace {

GridOptions periodic_blocks() {
  GridOptions options;
  options.periodic = {true, true, true};
  options.partition.blocks_per_device = {1, 2, 1};
  return options;
}

FieldOptions described(Layout layout = Layout::soa) {
  FieldOptions options;
  options.name = "mine";
  options.components = 3;
  options.ghost = {2, 1, 3};
  options.layout = layout;
  options.padding = {5, 1, 2};
  options.copies = 2;
  return options;
}

/// Arrays as a caller allocates them, without a margin before the first ghost.
struct AdoptedArrays {
  AdoptedArrays(const Grid& grid, FieldOptions options, Memory memory) {
    options.alignment = 1;
    for (const std::int64_t id : grid.local())
      for (int c = 0; c < options.copies; ++c) {
        const BlockShape shape = block_shape(grid.block(id).box.extents(), options);
        const Device device = grid.machine().device(grid.block(id).device).local;
        kept.emplace_back(device, shape.elements * size_of(options.type), memory);
        Stream stream(device);
        fill(stream, kept.back().data(), 0, kept.back().bytes());
        stream.synchronize();
        list.push_back(
            {kept.back().data(), {shape.stride[0], shape.stride[1], shape.stride[2]}, shape.component_stride});
      }
  }
  std::vector<Buffer<std::byte>> kept;
  std::vector<OwnArray> list;
};

/// All values of a block with ghosts, in an order that is independent of layout and padding.
std::vector<float> values_of(const Field& field, std::int64_t id) {
  const BlockShape& s = field.shape(id);
  Buffer<float> host(field.device(id), s.elements, Memory::pinned);
  Stream stream(field.device(id));
  std::vector<float> all;
  // The memory of an adopted field ends at its last value, even with padding.
  std::int64_t last = s.origin + (field.options().components - 1) * s.component_stride;
  for (int a = 0; a < 3; ++a) last += (s.extent[a] + s.ghost[a] - 1) * s.stride[a];
  copy(stream, host.data(), field.data(id), (last + 1) * sizeof(float));
  stream.synchronize();
  for (int c = 0; c < field.options().components; ++c)
    for (std::int64_t z = -s.ghost[2]; z < s.extent[2] + s.ghost[2]; ++z)
      for (std::int64_t y = -s.ghost[1]; y < s.extent[1] + s.ghost[1]; ++y)
        for (std::int64_t x = -s.ghost[0]; x < s.extent[0] + s.ghost[0]; ++x)
          all.push_back(
              host.data()[s.origin + c * s.component_stride + x * s.stride[0] + y * s.stride[1] + z * s.stride[2]]);
  return all;
}

/// Compares exchanges of fields in the caller's and the library's memory. Returns a reason if these are impossible.
std::string compare_with_own(Backend backend, const Way& way, Layout layout, Memory memory) {
  const Communicator comm = Communicator::world();
  if (auto why = unavailable(backend, way); !why.empty()) return why;
  const Machine machine = machine_here(backend, way);
  const Grid grid({13, 10 + comm.size(), 5 * machine.devices()}, machine, comm.rank(), periodic_blocks());
  FieldOptions options = described(layout);
  const AdoptedArrays arrays(grid, options, memory);
  ExchangeOptions by;
  by.routes = way.routes;
  by.knobs.grouping = way.grouping;
  Field adopted = Field::adopt(comm, grid, options, arrays.list);
  options.padding = {0, 0, 0};
  Field own(grid, options);
  std::vector<float> values(volume(grid.extent()) * options.components);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i + 1);
  std::vector<Stream> streams;
  for (const int d : machine.devices_of_rank(comm.rank())) streams.emplace_back(machine.device(d).local);
  Halo::Options widths;
  widths.low = widths.high = options.ghost;
  const Halo halo(widths);
  for (const Field* field : {&adopted, &own})
    if (auto why = refusal_of(grid, {{&halo, field->options()}}, by); !why.empty()) return why;
  for (Field* field : {&adopted, &own}) {
    Exchange exchange(comm, grid, {{&halo, field}}, by);
    for (int round = 0; round < 2; ++round) {
      field->write(grid.box(), values.data());
      exchange.run(streams);
      for (Stream& stream : streams) stream.synchronize();
      field->swap();
    }
  }
  for (int round = 0; round < 2; ++round) {
    for (const std::int64_t id : grid.local()) EXPECT_EQ(values_of(adopted, id), values_of(own, id));
    adopted.swap();
    own.swap();
  }
  return {};
}

class Adopted : public testing::TestWithParam<std::tuple<Backend, Layout, Memory>> {};

TEST_P(Adopted, ArraysAreExchangedLikeTheFieldsOwn) {
  const auto [backend, layout, memory] = GetParam();
  EXPECT_EQ(compare_with_own(backend, {"rules", all_routes()}, layout, memory), "");
}

class AdoptedBy : public testing::TestWithParam<std::tuple<Backend, std::size_t>> {};

TEST_P(AdoptedBy, ArraysAreExchangedLikeTheFieldsOwn) {
  const auto [backend, way] = GetParam();
  if (const auto why = compare_with_own(backend, all_ways()[way], Layout::soa, Memory::shared); !why.empty())
    GTEST_SKIP() << why;
}

INSTANTIATE_TEST_SUITE_P(Routes, AdoptedBy,
                         testing::Combine(testing::ValuesIn(backends_here()),
                                          testing::Range<std::size_t>(0, all_ways().size())),
                         [](const auto& info) { return name_of(std::get<0>(info.param), std::get<1>(info.param)); });

INSTANTIATE_TEST_SUITE_P(Memories, Adopted,
                         testing::Combine(testing::ValuesIn(backends_here()),
                                          testing::Values(Layout::soa, Layout::aos, Layout::soa_z),
                                          testing::Values(Memory::device, Memory::shared)),
                         [](const auto& info) {
                           return to_string(std::get<0>(info.param)) + "_" + to_string(std::get<1>(info.param)) +
                                  (std::get<2>(info.param) == Memory::shared ? "_shared" : "_device");
                         });

class Refused : public testing::Test {
 protected:
  Communicator comm = Communicator::world();
  Machine machine = machine_here(Backend::host, 1);
  Grid grid{{8, 8, 4 * comm.size()}, machine, comm.rank(), periodic_blocks()};
  FieldOptions options = described();
  AdoptedArrays arrays{grid, options, Memory::shared};
  std::optional<Error> why() {
    return error_of([&] { Field::adopt(comm, grid, options, arrays.list); });
  }
  bool last() const { return comm.rank() == comm.size() - 1; }
};

TEST_F(Refused, WrongStridesOfOneRankOnAllRanksSayingWhatTheyShouldBe) {
  const std::int64_t right = arrays.list[1].stride[1];
  if (last()) arrays.list[1].stride[1] = right + 1;
  const auto error = why();
  expect_error(error, ErrorCode::mismatch, {{"field", options.name}});
  EXPECT_EQ(error->fact("needed").find("x 1, y " + std::to_string(right)), 0u) << error->fact("needed");
  EXPECT_EQ(error->fact("given").find("x 1, y " + std::to_string(right + 1)), 0u) << error->fact("given");
}

TEST_F(Refused, NullAddress) {
  arrays.list[0].data = nullptr;
  expect_error(why(), ErrorCode::invalid_argument, {{"field", options.name}, {"problem", "null"}});
}

TEST_F(Refused, OneArrayTooFew) {
  arrays.list.pop_back();
  expect_error(why(), ErrorCode::mismatch, {{"field", options.name}, {"given", 3}, {"needed", 4}});
}

TEST_F(Refused, TheSameArrayForTwoBlocks) {
  arrays.list[3].data = arrays.list[0].data;
  expect_error(why(), ErrorCode::invalid_argument, {{"field", options.name}, {"problem", "shared"}});
}

TEST_F(Refused, AnAddressBetweenTwoValues) {
  arrays.list[0].data = static_cast<std::byte*>(arrays.list[0].data) + 2;
  expect_error(why(), ErrorCode::invalid_argument, {{"field", options.name}, {"problem", "alignment"}});
}

TEST_F(Refused, AnotherPaddingOnAnotherRank) {
  if (comm.size() == 1) GTEST_SKIP() << "needs two ranks";
  if (last()) options.padding[0] += 1;
  arrays = AdoptedArrays(grid, options, Memory::shared);
  expect_error(why(), ErrorCode::mismatch, {{"rank", comm.size() - 1}});
}

TEST_F(Refused, NothingWhereAllIsRight) { EXPECT_FALSE(why()); }

TEST_F(Refused, MappingWhereOneArrayOfOneRankHasNoHandle) {
  EXPECT_TRUE(Field::adopt(comm, grid, options, arrays.list).options().shared);
  if (last()) arrays = AdoptedArrays(grid, options, Memory::device);
  EXPECT_FALSE(Field::adopt(comm, grid, options, arrays.list).options().shared);
}

}  // namespace
}  // namespace slipstream
