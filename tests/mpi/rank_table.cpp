#include "rank_table.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include <slipstream/error.hpp>

namespace slipstream::ranks {

const std::vector<Row>& table() {
  static const std::vector<Row> rows{
      {"*", "1 2 4 8", "1 2 4 8", "1 2 4 8", "everything, until measured"},
  };
  return rows;
}

namespace {

/// A name and a pattern of GoogleTest, where * stands for any letters.
bool matches(const char* pattern, const char* name) {
  if (*pattern == '*') return matches(pattern + 1, name) || (*name && matches(pattern, name + 1));
  return *pattern == *name && (!*name || matches(pattern + 1, name + 1));
}

bool holds(const char* counts, int ranks) {
  std::istringstream text(counts);
  for (int count = 0; text >> count;)
    if (count == ranks) return true;
  return false;
}

const char* counts(const Row& row, Column column) {
  return column == Column::quick ? row.quick : column == Column::sanitized ? row.sanitized : row.every;
}

/// Calls f(full name) for every test of this program.
template <class F>
void each_test(F f) {
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *all.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t)
      f(std::string(suite.name()) + "." + suite.GetTestInfo(t)->name());
  }
}

}  // namespace

Column column_here() {
  if (const char* asked = std::getenv("SLIPSTREAM_TESTS")) {
    const std::string name = asked;
    if (name == "quick") return Column::quick;
    if (name == "sanitized") return Column::sanitized;
    require(name == "every", "SLIPSTREAM_TESTS is '" + name + "': say quick, sanitized or every");
    return Column::every;
  }
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return Column::sanitized;
#else
  return Column::quick;
#endif
}

std::string filter(const std::string& asked, int ranks, Column column) {
  const bool by_name = asked != "*" && !asked.empty() && asked.front() != '-' && !asked.starts_with("*-");
  if (by_name) return asked;
  std::vector<int> used(table().size(), 0);
  std::string left_out;
  each_test([&](const std::string& name) {
    for (std::size_t r = 0; r < table().size(); ++r) {
      if (!matches(table()[r].tests, name.c_str())) continue;
      ++used[r];
      if (!holds(counts(table()[r], column), ranks)) left_out += ":" + name;
      return;
    }
    throw Error("tests/mpi/rank_table.cpp has no row for " + name + ": say at which numbers of ranks it runs");
  });
  for (std::size_t r = 0; r < table().size(); ++r)
    require(used[r] > 0, std::string("tests/mpi/rank_table.cpp has a row for ") + table()[r].tests +
                             ", which no test matches: remove it, or mend its name");
  if (left_out.empty()) return asked;
  return asked.find('-') == std::string::npos ? asked + "-" + left_out.substr(1) : asked + left_out;
}

}  // namespace slipstream::ranks
