#pragma once
// Numbers of MPI ranks on which each test runs, with reasons. `make test`, `make test-all` and the sanitizers use this
// table. A test takes the first row that matches its name.
#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace slipstream::ranks {

/// Numbers of ranks for the tests that a pattern matches, as texts such as "1 2 4 8".
struct Row {
  const char* tests;      ///< GoogleTest's pattern of `Suite.Test/parameter`
  const char* quick;      ///< numbers of ranks in `make test`
  const char* sanitized;  ///< numbers of ranks under a sanitizer, which is five to thirty times slower
  const char* every;      ///< numbers of ranks in `make test-all`
  const char* why;
};

/// All rows of test patterns and numbers of ranks; rows for few tests come before rows for many.
const std::vector<Row>& table();

/// Tests that are always skipped at some numbers of ranks.
struct Gap {
  const char* tests;   ///< GoogleTest's pattern of `Suite.Test/parameter`
  const char* counts;  ///< numbers of MPI ranks at which the tests are skipped; if empty, later rules skip none either
  const char* why;
};

/// All rules for skipped tests, those for few tests first. The first rule for a test and a number of ranks counts.
const std::vector<Gap>& gaps();

enum class Column { quick, sanitized, every };

/// The column that SLIPSTREAM_TESTS names (`quick`, `sanitized` or `every`); without it, the column of the build type.
Column column_here();

/// Whether the n-th of many similar test cases runs here: always in `make test-all`, otherwise every `of`-th case. If n
/// also counts other parameters of the test, each case still runs for some of them.
bool is_due(std::size_t n, std::size_t of);

struct Chosen {
  std::string filter;             ///< filter that GoogleTest gets
  std::vector<std::string> gaps;  ///< how many tests are skipped and why, one line of text per reason
};

/// Tests for a number of ranks, within the filter `asked`. A user who filters by name without SLIPSTREAM_TESTS gets all
/// matching tests. Throws Error if the table lacks a test, or a row of it or a rule for skipped tests matches none.
Chosen choose(const std::string& asked, int ranks, Column column);

}  // namespace slipstream::ranks
