#pragma once
// The number of ranks of each test, with reasons. `make test`, `make test-all` and the sanitizers use this table. The
// first matching row counts.
#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace slipstream::ranks {

/// A row of the table. Numbers of ranks are texts such as "1 2 4 8".
struct Row {
  const char* tests;      ///< GoogleTest's pattern of `Suite.Test/parameter`
  const char* quick;      ///< numbers of ranks in `make test`
  const char* sanitized;  ///< numbers of ranks under a sanitizer, which is five to thirty times slower
  const char* every;      ///< numbers of ranks in `make test-all`
  const char* why;
};

/// All rows; specific ones come before general ones.
const std::vector<Row>& table();

/// Tests that are always skipped at some numbers of ranks.
struct Gap {
  const char* tests;   ///< GoogleTest's pattern of `Suite.Test/parameter`
  const char* counts;  ///< numbers of ranks; none: these tests run, and later gaps do not exclude them
  const char* why;
};

/// All gaps; specific ones come before general ones. At a number of ranks the first match counts, in every column.
const std::vector<Gap>& gaps();

enum class Column { quick, sanitized, every };

/// The column that SLIPSTREAM_TESTS names (`quick`, `sanitized` or `every`); without it, the column of the build type.
Column column_here();

/// Whether the n-th of many similar cases runs here. All run in `make test-all`, otherwise one in `of`. If n also
/// counts other parameters, each case runs in some tests.
bool is_due(std::size_t n, std::size_t of);

struct Chosen {
  std::string filter;             ///< filter that GoogleTest gets
  std::vector<std::string> gaps;  ///< number of tests omitted by gaps and why; one line per reason
};

/// The tests for a number of ranks, within the filter `asked`. A user who filters by name and does not set
/// SLIPSTREAM_TESTS gets all matching tests. Throws Error if a test has no row, or a row or a gap matches no test.
Chosen choose(const std::string& asked, int ranks, Column column);

}  // namespace slipstream::ranks
