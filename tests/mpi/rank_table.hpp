#pragma once
// Which tests run at which numbers of ranks, and why: the one table that `make test`, `make test-all` and the
// sanitizers follow. The first row that matches a test counts.
#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace slipstream::ranks {

/// Counts of ranks, as "1 2 4 8".
struct Row {
  const char* tests;      ///< GoogleTest's pattern of `Suite.Test/parameter`
  const char* quick;      ///< `make test`
  const char* sanitized;  ///< under a sanitizer, which takes five to thirty times as long
  const char* every;      ///< `make test-all`
  const char* why;
};

/// The rows, the special before the general.
const std::vector<Row>& table();

/// Tests that are skipped wherever they run at these numbers of ranks.
struct Gap {
  const char* tests;   ///< GoogleTest's pattern of `Suite.Test/parameter`
  const char* counts;  ///< of ranks; none: these tests run, whatever a later gap says
  const char* why;
};

/// The gaps, the special before the general: the first that matches at a number of ranks counts, in every column.
const std::vector<Gap>& gaps();

enum class Column { quick, sanitized, every };

/// By SLIPSTREAM_TESTS (`quick`, `sanitized` or `every`), else by how the program was built.
Column column_here();

/// Whether the n-th of many like cases runs here: all in `make test-all`, else one in `of`. Where n counts in what else
/// differs between tests, each case is run by some of them.
bool is_due(std::size_t n, std::size_t of);

struct Chosen {
  std::string filter;             ///< GoogleTest's
  std::vector<std::string> gaps;  ///< how many tests were left out by a gap, and why; a line for each reason
};

/// The tests that run at so many ranks, of those that `asked` lets run. A user who asks for tests by name, and not for
/// a column by SLIPSTREAM_TESTS, gets them all. Throws Error where a test has no row, or a row or a gap has no test.
Chosen choose(const std::string& asked, int ranks, Column column);

}  // namespace slipstream::ranks
