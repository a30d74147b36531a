// Invalid Fourier transforms are refused with one error on all ranks.
#include <gtest/gtest.h>

#include <cstdio>

#include <slipstream/fft.hpp>

#include "support/expect_error.hpp"
#include "support/fft_rig.hpp"

namespace slipstream {
namespace {

TEST(FourierTransformRefuses, WhatCannotBe) {
  const Communicator comm = Communicator::world();
  const Machine m = machine_here(Backend::host, 2);
  const auto refused = [&](const Extent& cells, const FftOptions& options, ErrorCode code, const Facts& facts) {
    expect_error([&] { Fft(comm, m, cells, options); }, code, facts);
  };
  const Extent cells{4, 4, 4};
  refused({4, 0, 4}, {}, ErrorCode::invalid_argument, {{"option", "cells"}, {"given", "4 x 0 x 4"}});
  FftOptions options;
  options.tune_process_grid = true;
  options.process_grid = {1, m.devices()};
  refused(cells, options, ErrorCode::unsupported,
          {{"option", "process_grid"}, {"given", "1 x " + std::to_string(m.devices())}});
  options = {};
  options.type = DType::i32;
  refused(cells, options, ErrorCode::unsupported, {{"option", "type"}, {"given", "i32"}});
  options.type = DType::f32;
  options.highest = {1, -2, 1};
  refused(cells, options, ErrorCode::invalid_argument, {{"option", "highest"}, {"axis", 1}, {"given", -2}});
  options.highest = {-1, -1, -1};
  options.parts = -2;
  refused(cells, options, ErrorCode::invalid_argument, {{"option", "parts"}, {"given", -2}});
  options.parts = 0;
  options.process_grid = {3, 1};
  refused(cells, options, ErrorCode::invalid_argument,
          {{"option", "process_grid"}, {"given", "3 x 1"}, {"needed", m.devices()}});
}

TEST(FourierTransformRefuses, WhatDevicesHaveNoRoomForAndNamesTheLargestThatFits) {
  const Communicator comm = Communicator::world();
  const Machine m = machine_here(Backend::host, 2);
  for (const bool measured : {false, true}) {
    FftOptions options;
    options.tune_process_grid = measured;
    const auto error = error_of([&] { Fft(comm, m, {20000, 20000, 10000}, options); });
    expect_error(error, ErrorCode::out_of_memory, {{"cells", "20000 x 20000 x 10000"}});
    EXPECT_GT(std::stoll(error->fact("needed")), std::stoll(error->fact("available")));
    Extent largest{0, 0, 0};
    ASSERT_EQ(std::sscanf(error->fact("largest").c_str(), "%ld x %ld x %ld", &largest[0], &largest[1], &largest[2]), 3);
    EXPECT_GT(largest[2], 32);
    EXPECT_EQ(largest[1], largest[0]);
    EXPECT_NEAR(static_cast<double>(largest[0]), 2.0 * static_cast<double>(largest[2]), 1.0);
  }
}

TEST(FourierTransformRefuses, OnAllRanksWhatOneCannotMakeOrMakesDifferently) {
  const Communicator comm = Communicator::world();
  if (comm.size() == 1) GTEST_SKIP() << "needs two ranks";
  const Machine m = machine_here(Backend::host, 1);
  const bool odd = comm.rank() == 1;
  FftOptions options;
  if (odd) options.type = DType::i32;
  expect_error(
      [&] {
        Fft(comm, m, {4, 8, 8}, options);
      },
      ErrorCode::unsupported, {{"rank", 1}, {"option", "type"}, {"given", "i32"}});
  options = {};
  if (odd) options.transposed = false;
  const auto error = error_of([&] { Fft(comm, m, {4, 8, 8}, options); });
  expect_error(error, ErrorCode::mismatch, {{"rank", 1}});
  EXPECT_EQ(error->fact("first").find("4 x 8 x 8 cells of c128"), 0u) << error->fact("first");
  EXPECT_NE(error->fact("first").find("highest modes (-1, -1, -1), transposed, scaled"), std::string::npos)
      << error->fact("first");
  for (const auto& [change, word] : {std::pair{+[](FftOptions& o) { o.coding.kind = Coding::Kind::cast; }, "coded as"},
                                     {+[](FftOptions& o) { o.parts = 2; }, "in 2 parts"},
                                     {+[](FftOptions& o) { o.verify = true; }, "verified"}}) {
    options = {};
    if (odd) change(options);
    const auto differs = error_of([&] { Fft(comm, m, {4, 8, 8}, options); });
    expect_error(differs, ErrorCode::mismatch, {{"rank", 1}});
    EXPECT_NE(differs->fact("given").find(word), std::string::npos) << differs->fact("given");
  }
  options = {};
  options.exchange.routes = odd ? std::vector{RouteKind::kernel} : all_routes();
  expect_error([&] { Fft(comm, m, {4, 8, 8}, options); }, ErrorCode::unavailable, {{"problem", "no_route"}});
}

TEST(FourierTransformRefuses, ArraysThatOverlap) {
  const Communicator comm = Communicator::world();
  const Machine m = machine_here(Backend::host, 1);
  Fft fft(comm, m, {4, 8, 8});  // sizes for which blocks of values and of modes are equal
  const std::int64_t values = volume(fft.physical().block(fft.physical().local().at(0)).box.extents());
  std::vector<Complex> memory(static_cast<std::size_t>(3 * values));
  std::vector<Stream> streams = streams_of(fft.physical());
  const auto run = [&](std::int64_t from, std::int64_t from_next, std::int64_t to, std::int64_t to_next) {
    return error_of([&] {
      Complex* const at = memory.data();
      fft.forward_components({{at + from}, {at + from_next}}, {{at + to}, {at + to_next}}, streams);
      finish(streams);
    });
  };
  const auto over = [](int other) {
    return Facts{{"problem", "written_over"}, {"component", 0}, {"other_component", other}};
  };
  expect_error(run(0, values, 1, 2 * values), ErrorCode::invalid_argument, over(0));
  expect_error(run(0, values, values, 2 * values), ErrorCode::invalid_argument, over(1));
  EXPECT_FALSE(run(0, values, 0, values));
  EXPECT_FALSE(run(0, values, 2 * values, 0));  // output 1 overwrites input 0, which has been transformed by then
  expect_error(run(0, values, 2 * values, 2 * values), ErrorCode::invalid_argument,
               {{"problem", "written_twice"}, {"component", 0}, {"other_component", 1}});
  expect_error([&] { fft.forward_components({}, {}, streams); }, ErrorCode::mismatch, {{"source", 0}, {"target", 0}});
}

TEST(FourierTransformRefuses, ArraysOfTwoDevicesThatOverlap) {
  const Communicator comm = Communicator::world();
  const Machine m = machine_here(Backend::host, 2);
  Fft fft(comm, m, {4, 16, 16});  // sizes for which blocks of values and of modes are equal
  const std::int64_t values = volume(fft.physical().block(fft.physical().local().at(0)).box.extents());
  std::vector<Complex> memory(static_cast<std::size_t>(4 * values));
  std::vector<Stream> streams = streams_of(fft.physical());
  const auto run = [&](std::int64_t from, std::int64_t to) {
    return error_of([&] {
      Complex* const at = memory.data();
      fft.forward({at, at + from * values}, {at + 2 * values, at + to * values}, streams);
      finish(streams);
    });
  };
  const auto parts = [](const char* problem, int device, int other) {
    return Facts{{"problem", problem}, {"component", 0}, {"device", device}, {"other_device", other}};
  };
  expect_error(run(1, 2), ErrorCode::invalid_argument, parts("written_twice", 0, 1));
  expect_error(run(2, 3), ErrorCode::invalid_argument, parts("written_over", 0, 1));
  EXPECT_FALSE(run(1, 3));
}

/// A null array on one rank is an error on all ranks, in the first forward() and backward(), where ranks compare calls.
TEST(FourierTransformRefuses, OnAllRanksWhatOneCallsItWith) {
  const Communicator comm = Communicator::world();
  if (comm.size() == 1) GTEST_SKIP() << "needs two ranks";
  const Machine m = machine_here(Backend::host, 1);
  const bool odd = comm.rank() == comm.size() - 1;
  FftOptions options;
  options.exchange.wait_limit = 5;
  Fft fft(comm, m, {4, 8, 8}, options);
  Field u(fft.physical(), fft.physical_field("u")), v(fft.spectral(), fft.spectral_field("v"));
  std::vector<Stream> streams = streams_of(fft.physical());
  const std::int64_t mine = fft.physical().local().at(0), other = fft.spectral().local().at(0);
  void* const given = odd ? nullptr : u.data(mine);
  const auto expect_refused = [&](const std::function<void()>& call, const char* name) {
    const std::string told = name + std::string(" as call 1");
    expect_error(call, odd ? ErrorCode::invalid_argument : ErrorCode::mismatch,
                 odd ? Facts{{"array", 0}, {"problem", "null"}} : Facts{{"rank", comm.size() - 1}, {"call", told}});
  };
  expect_refused([&] { fft.forward({given}, {v.data(other)}, streams); }, "forward");
  EXPECT_FALSE(error_of([&] { fft.forward(u, v, streams); }));
  const auto backward = error_of([&] { fft.backward({v.data(other)}, {given}, streams); });
  ASSERT_TRUE(backward);
  EXPECT_EQ(odd ? backward->fact("problem") : backward->fact("call").substr(0, 8), odd ? "null" : "backward");
  finish(streams);
}

TEST(FourierTransformRefuses, FieldsThatDoNotFit) {
  const Communicator comm = Communicator::world();
  const Machine m = machine_here(Backend::host, 1);
  Fft fft(comm, m, {4, 6, 8});
  Field u(fft.physical(), fft.physical_field("u")), v(fft.spectral(), fft.spectral_field("v"));
  FieldOptions floats = fft.physical_field("floats"), wide = fft.physical_field("wide"),
               two = fft.physical_field("two");
  floats.type = DType::f32;
  wide.ghost = {1, 0, 0};
  two.components = 2;
  Field f(fft.physical(), floats), w(fft.physical(), wide), t(fft.physical(), two);
  std::vector<Stream> streams = streams_of(fft.physical()), none;
  const auto refused = [&](const Field& from, const Field& to, const Facts& facts) {
    expect_error([&] { fft.forward(from, const_cast<Field&>(to), streams); }, ErrorCode::mismatch, facts);
  };
  refused(f, v, {{"field", "floats"}, {"given", "f32"}, {"needed", "c128"}});
  refused(w, v, {{"field", "wide"}, {"problem", "gaps"}});
  refused(u, u, {{"field", "u"}, {"problem", "grid"}});
  refused(t, v, {{"source", 2}, {"target", 1}});
  expect_error([&] { fft.forward(u, v, none); }, ErrorCode::mismatch, {{"streams", 0}, {"needed", 1}});
  expect_error([&] { fft.forward(std::vector<const void*>{}, {}, streams); }, ErrorCode::mismatch,
               {{"kind", "physical"}, {"given", 0}, {"needed", 1}});
}

}  // namespace
}  // namespace slipstream
