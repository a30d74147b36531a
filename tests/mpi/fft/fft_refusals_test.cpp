// What Fourier transforms refuse, and how they say so.
#include <gtest/gtest.h>

#include <cstdio>

#include <slipstream/fft.hpp>

#include "support/error_text.hpp"
#include "support/fft_rig.hpp"

namespace slipstream {
namespace {

TEST(FourierTransformRefuses, WhatCannotBe) {
  const Communicator comm = Communicator::world();
  const Machine m = machine_here(Backend::host, 2);
  EXPECT_EQ(error_of([&] {
              Fft(comm, m, {4, 0, 4});
            }),
            "a Fourier transform of 4 x 0 x 4 cells was asked for: each axis needs 1 or more");
  FftOptions options;
  options.tune_process_grid = true;
  options.process_grid = {1, m.devices()};
  EXPECT_EQ(error_of([&] {
              Fft(comm, m, {4, 4, 4}, options);
            }),
            "the process grid 1 x " + std::to_string(m.devices()) +
                " of a Fourier transform was given, and the fastest was asked for: do one of the two");
  options = {};
  options.type = DType::i32;
  EXPECT_EQ(error_of([&] {
              Fft(comm, m, {4, 4, 4}, options);
            }),
            "values of i32 have no Fourier transform here: choose f32, f64, c64 or c128");
  options.type = DType::f32;
  options.highest = {1, -2, 1};
  EXPECT_EQ(error_of([&] {
              Fft(comm, m, {4, 4, 4}, options);
            }),
            "the highest mode of a Fourier transform along axis 1 is -2: it is 0 or more, or -1 for all");
  options.highest = {-1, -1, -1};
  options.parts = -2;
  EXPECT_EQ(error_of([&] {
              Fft(comm, m, {4, 4, 4}, options);
            }),
            "a move of a Fourier transform was asked for in -2 parts: give 1 or more, or 0 for a number by size");
  options.parts = 0;
  options.process_grid = {3, 1};
  EXPECT_EQ(error_of([&] {
              Fft(comm, m, {4, 4, 4}, options);
            }),
            "the process grid 3 x 1 of a Fourier transform does not have as many places as there are devices, " +
                std::to_string(m.devices()) + ": give two numbers whose product that is, or none");
}

TEST(FourierTransformRefuses, WhatDevicesHaveNoRoomForAndNamesTheLargestThatFits) {
  const Communicator comm = Communicator::world();
  const Machine m = machine_here(Backend::host, 2);
  for (const bool measured : {false, true}) {
    FftOptions options;
    options.tune_process_grid = measured;
    const std::string said = error_of([&] { Fft(comm, m, {20000, 20000, 10000}, options); });
    expect_words(said, {"a Fourier transform of 20000 x 20000 x 10000 values needs ", " are free",
                        "the largest of this shape that fits with them is ", "; or use more devices"});
    const std::string lead = "fits with them is ";
    Extent largest{0, 0, 0};
    ASSERT_EQ(std::sscanf(said.c_str() + said.find(lead) + lead.size(), "%ld x %ld x %ld", &largest[0], &largest[1],
                          &largest[2]),
              3);
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
  EXPECT_EQ(error_of([&] {
              Fft(comm, m, {4, 8, 8}, options);
            }),
            "rank 1: values of i32 have no Fourier transform here: choose f32, f64, c64 or c128");
  options = {};
  if (odd) options.transposed = false;
  expect_words(error_of([&] {
                 Fft(comm, m, {4, 8, 8}, options);
               }),
               {"the ranks construct different Fourier transforms", "rank 0 one of 4 x 8 x 8 cells of c128",
                "highest modes (-1, -1, -1), transposed, scaled", "rank 1 one of"});
  for (const auto& [change, word] : {std::pair{+[](FftOptions& o) { o.coding.kind = Coding::Kind::cast; }, "coded as"},
                                     {+[](FftOptions& o) { o.parts = 2; }, "in 2 parts"},
                                     {+[](FftOptions& o) { o.verify = true; }, "verified"}}) {
    options = {};
    if (odd) change(options);
    expect_words(error_of([&] {
                   Fft(comm, m, {4, 8, 8}, options);
                 }),
                 {"the ranks construct different Fourier transforms", word});
  }
  options = {};
  options.exchange.routes = odd ? std::vector{RouteKind::kernel} : all_routes();
  const std::string said = error_of([&] { Fft(comm, m, {4, 8, 8}, options); });
  EXPECT_NE(said.find("no allowed route joins two of the devices"), std::string::npos) << said;
}

TEST(FourierTransformRefuses, ArraysThatOverlap) {
  const Communicator comm = Communicator::world();
  const Machine m = machine_here(Backend::host, 1);
  Fft fft(comm, m, {4, 8, 8});  // as many values on both sides
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
  const std::string over = " of a Fourier transform would be written over what component ";
  EXPECT_NE(run(0, values, 1, 2 * values).find("component 0" + over + "0"), std::string::npos);
  EXPECT_NE(run(0, values, values, 2 * values).find("component 0" + over + "1"), std::string::npos);
  EXPECT_EQ(run(0, values, 0, values), "");
  EXPECT_EQ(run(0, values, 2 * values, 0), "");  // what was read may be written
  EXPECT_NE(run(0, values, 2 * values, 2 * values)
                .find("component 0 and component 1 of a Fourier transform would be written into the same memory"),
            std::string::npos);
  EXPECT_NE(error_of([&] { fft.forward_components({}, {}, streams); }).find("one or more"), std::string::npos);
}

TEST(FourierTransformRefuses, ArraysOfTwoDevicesThatOverlap) {
  const Communicator comm = Communicator::world();
  const Machine m = machine_here(Backend::host, 2);
  Fft fft(comm, m, {4, 16, 16});  // as many values on both sides
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
  EXPECT_NE(run(1, 2).find("component 0 on device 0 of this rank and component 0 on device 1 of this rank of a Fourier "
                           "transform would be written into the same memory"),
            std::string::npos);
  EXPECT_NE(run(2, 3).find("component 0 on device 0 of this rank of a Fourier transform would be written over what "
                           "component 0 on device 1"),
            std::string::npos);
  EXPECT_EQ(run(1, 3), "");
}

/// At the first call of its kind; later ones are the rank's own.
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
  const std::string told = "rank " + std::to_string(comm.size() - 1) + " could not make ";
  const std::string why = " as call 1 of a Fourier transform: its own error says why";
  const std::string own = "a Fourier transform was given an array without an address";
  EXPECT_EQ(error_of([&] { fft.forward({given}, {v.data(other)}, streams); }), odd ? own : told + "forward" + why);
  EXPECT_EQ(error_of([&] { fft.forward(u, v, streams); }), "");
  std::string said = error_of([&] { fft.backward({v.data(other)}, {given}, streams); });
  EXPECT_NE(said.find(odd ? own : told + "backward"), std::string::npos) << said;
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
  EXPECT_EQ(error_of([&] { fft.forward(f, v, streams); }), "field floats holds f32, the transform c128 on this side");
  EXPECT_EQ(error_of([&] { fft.forward(w, v, streams); }),
            "field wide has ghosts or gaps between rows: make it with physical_field() or spectral_field()");
  EXPECT_EQ(error_of([&] { fft.forward(u, u, streams); }),
            "field u does not lie on the transform's grid: make it on physical() or spectral()");
  EXPECT_EQ(error_of([&] { fft.forward(t, v, streams); }),
            "a Fourier transform was given 2 components to read and 1 to fill: give both the same");
  EXPECT_NE(error_of([&] { fft.forward(u, v, none); }).find("was given 0 streams for the 1 devices"),
            std::string::npos);
  EXPECT_NE(
      error_of([&] { fft.forward(std::vector<const void*>{}, {}, streams); }).find("0 arrays of the physical grid"),
      std::string::npos);
}

}  // namespace
}  // namespace slipstream
