// What transposes refuse, and how they say so.
#include <gtest/gtest.h>

#include <vector>

#include <slipstream/transpose.hpp>

#include "support/error_text.hpp"
#include "support/exchange_rig.hpp"

namespace slipstream {
namespace {

/// Two slabs along z and, turned or not, along x.
struct TwoSlabs {
  Communicator comm = Communicator::world();
  Machine machine = machine_here(Backend::host, 1);
  Grid source{{8, 6, 4}, machine, comm.rank()}, target{{4, 6, 8}, machine, comm.rank()};
};

TEST(TransposeRefuses, AxesThatAreNoPermutation) {
  const TwoSlabs s;
  EXPECT_EQ(error_of([&] {
              Transpose(s.source, s.source, {.axes = {0, 1, 1}, .kept = {}});
            }),
            "the axes (0, 1, 1) of a transpose are no permutation: name each of 0, 1 and 2 once");
}

TEST(TransposeRefuses, ExtentsThatDoNotMatch) {
  const TwoSlabs s;
  EXPECT_EQ(error_of([&] { Transpose(s.source, s.target); }),
            "axis 0 of a transpose's source has 8 cells, and axis 0 of its target, where it goes, has 4");
}

TEST(TransposeRefuses, RangesThatLeaveTheirAxisOrMeet) {
  const TwoSlabs s;
  for (const std::vector<Transpose::Range>& ranges :
       {std::vector<Transpose::Range>{{4, 9}}, {{-1, 2}}, {{3, 3}}, {{0, 5}, {4, 8}}})
    EXPECT_NE(error_of([&] {
                Transpose(s.source, s.target, {.axes = {2, 1, 0}, .kept = {ranges, {}, {}}});
              }).find("of axis 0, which has 8 cells: give ascending ranges within them that do not meet"),
              std::string::npos);
}

TEST(TransposeRefuses, FieldsOfDifferentTypesOrOnOtherGrids) {
  const TwoSlabs s;
  const Transpose transpose(s.source, s.target, {.axes = {2, 1, 0}, .kept = {}});
  FieldOptions floats, doubles;
  floats.name = "floats";
  doubles.name = "doubles";
  doubles.type = DType::f64;
  Field from(s.source, floats), wrong(s.target, doubles), elsewhere(s.source, floats);
  EXPECT_NE(
      error_of([&] {
        Exchange(s.comm, s.source, {{&transpose, &from, &wrong}});
      }).find("the pattern 'transpose' moves values of field floats (f32) to field doubles (f64): give both the same"),
      std::string::npos);
  EXPECT_NE(error_of([&] {
              Exchange(s.comm, s.source, {{&transpose, &from, &elsewhere}});
            }).find("field floats does not lie on the blocks that the pattern 'transpose' brings values to"),
            std::string::npos);
}

}  // namespace
}  // namespace slipstream
