// Invalid transposes are refused with one error on all ranks.
#include <gtest/gtest.h>

#include <vector>

#include <slipstream/transpose.hpp>

#include "support/exchange_rig.hpp"
#include "support/expect_error.hpp"

namespace slipstream {
namespace {

/// Two grids with x and z swapped, from which tests make invalid transposes.
struct TwoSlabs {
  Communicator comm = Communicator::world();
  Machine machine = machine_here(Backend::host, 1);
  Grid source{{8, 6, 4}, machine, comm.rank()}, target{{4, 6, 8}, machine, comm.rank()};
};

TEST(TransposeRefuses, AxesThatAreNoPermutation) {
  const TwoSlabs s;
  expect_error(
      [&] {
        Transpose(s.source, s.source, {.axes = {0, 1, 1}, .kept = {}});
      },
      ErrorCode::invalid_argument, {{"option", "axes"}, {"given", "(0, 1, 1)"}});
}

TEST(TransposeRefuses, ExtentsThatDoNotMatch) {
  const TwoSlabs s;
  expect_error([&] { Transpose(s.source, s.target); }, ErrorCode::mismatch,
               {{"option", "axes"}, {"axis", 0}, {"given", 8}, {"needed", 4}});
}

TEST(TransposeRefuses, RangesThatLeaveTheirAxisOrMeet) {
  const TwoSlabs s;
  for (const std::vector<Transpose::Range>& ranges :
       {std::vector<Transpose::Range>{{4, 9}}, {{-1, 2}}, {{3, 3}}, {{0, 5}, {4, 8}}})
    expect_error(
        [&] {
          Transpose(s.source, s.target, {.axes = {2, 1, 0}, .kept = {ranges, {}, {}}});
        },
        ErrorCode::invalid_argument, {{"option", "keep"}, {"axis", 0}, {"limit", 8}});
}

TEST(TransposeRefuses, FieldsOfDifferentTypesOrOnOtherGrids) {
  const TwoSlabs s;
  const Transpose transpose(s.source, s.target, {.axes = {2, 1, 0}, .kept = {}});
  FieldOptions floats, doubles;
  floats.name = "floats";
  doubles.name = "doubles";
  doubles.type = DType::f64;
  Field from(s.source, floats), wrong(s.target, doubles), elsewhere(s.source, floats);
  expect_error(
      [&] {
        Exchange(s.comm, s.source, {{&transpose, &from, &wrong}});
      },
      ErrorCode::mismatch, {{"pattern", "transpose"}, {"source", "floats"}, {"target", "doubles"}, {"option", "type"}});
  expect_error(
      [&] {
        Exchange(s.comm, s.source, {{&transpose, &from, &elsewhere}});
      },
      ErrorCode::mismatch, {{"pattern", "transpose"}, {"field", "floats"}});
}

}  // namespace
}  // namespace slipstream
