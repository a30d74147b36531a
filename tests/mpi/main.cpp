// Runs the same tests on all ranks. Rank 0 prints the results, the others their failures; one failure fails all.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>

#include <slipstream/communicator.hpp>
#include <slipstream/device.hpp>
#include <slipstream/error.hpp>
#include <slipstream/process.hpp>

#include "rank_table.hpp"
#include "support/host_picture.hpp"

namespace {

class FailurePrinter final : public testing::EmptyTestEventListener {
 public:
  explicit FailurePrinter(int rank) : rank_(rank) {}

 private:
  // Stores the test's name at its start, because GoogleTest holds its lock while it reports a failure.
  void OnTestStart(const testing::TestInfo& test) override {
    test_ = std::string(test.test_suite_name()) + "." + test.name();
  }
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    std::ostringstream text;
    text << "rank " << rank_ << ": " << test_ << ": " << (result.file_name() ? result.file_name() : "?") << ":"
         << result.line_number() << ": " << result.message() << "\n";
    std::cerr << text.str() << std::flush;
  }
  int rank_;
  std::string test_ = "set-up";
};

/// Shortens the filter that GoogleTest prints, which names thousands of tests. GoogleTest has already parsed the filter
/// then.
class ShortFilter final : public testing::EmptyTestEventListener {
 public:
  explicit ShortFilter(std::string filter) : filter_(std::move(filter)) {}

 private:
  void OnTestProgramStart(const testing::UnitTest&) override { GTEST_FLAG_SET(filter, filter_); }
  std::string filter_;
};

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  slipstream::set_process_environment();
  auto& pictures = slipstream::StartOfMpi::taken();
  pictures.before = slipstream::HostPicture::now();
  const slipstream::Communicator world = slipstream::Communicator::world();
  pictures.after = slipstream::HostPicture::now();
  if (world.rank() > 0) {
    auto& listeners = testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
    delete listeners.Release(listeners.default_xml_generator());  // only rank 0 writes the file of results
    listeners.Append(new FailurePrinter(world.rank()));
  }
  // Ranks share the cores, so each rank gets its share of threads.
  slipstream::set_host_threads(std::max(1, slipstream::host_threads() / world.size()));
  try {
    using namespace slipstream::ranks;
    const std::string asked = GTEST_FLAG_GET(filter);
    const Chosen chosen = choose(asked, world.size(), column_here());
    GTEST_FLAG_SET(filter, chosen.filter);
    testing::UnitTest::GetInstance()->listeners().Append(new ShortFilter(asked));
    if (world.rank() == 0)
      for (const std::string& line : chosen.gaps) std::cout << line << std::endl;
  } catch (const slipstream::Error& error) {
    if (world.rank() == 0) std::cerr << error.what() << "\n";
    return 1;
  }
  const int failed = RUN_ALL_TESTS() != 0;
  const int ranks_failed = static_cast<int>(world.sum_in_rank_order(failed));
  if (ranks_failed > 0 && world.rank() == 0) std::cerr << ranks_failed << " of " << world.size() << " ranks failed\n";
  return ranks_failed > 0 ? 1 : 0;
}
