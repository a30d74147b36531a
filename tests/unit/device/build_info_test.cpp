#include <regex>

#include <gtest/gtest.h>
#include <slipstream/build_info.hpp>
#include <slipstream/device.hpp>

#include "support/expect_error.hpp"

namespace slipstream {
namespace {

TEST(BuildInfo, CommitIsAHashOrSaysThatItIsUnknown) {
  EXPECT_TRUE(std::regex_match(build_commit(), std::regex("[0-9a-f]{7,40}(\\+changes)?|unknown"))) << build_commit();
}

TEST(BuildInfo, NamesTheCompilerThatBuiltThisTest) {
  EXPECT_NE(build_compiler().find(std::to_string(__GNUC__) + "."), std::string::npos) << build_compiler();
}

TEST(BuildInfo, SaysHowHdf5WasBuilt) {
  EXPECT_TRUE(std::regex_match(build_hdf5(), std::regex("[0-9.]+ (parallel|serial)"))) << build_hdf5();
}

TEST(BuildInfo, NamesTheToolkitWhereverTheCudaBackendCanRun) {
  EXPECT_TRUE(!available(Backend::cuda) || !build_cuda().empty());
}

extern "C" const char* slipstream_lbm_build();

TEST(BuildInfo, LibrariesOfOneBuildAgree) { EXPECT_NO_THROW(require_build("lbm", slipstream_lbm_build())); }

TEST(BuildInfo, ALibraryOfAnotherBuildIsAnError) {
  expect_error([] { require_build("lbm", "0.0.9-elsewhere"); }, ErrorCode::version,
               {{"part", "lbm"}, {"given", "0.0.9-elsewhere"}, {"needed", slipstream_lbm_build()}});
}

}  // namespace
}  // namespace slipstream
