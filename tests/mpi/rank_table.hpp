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

enum class Column { quick, sanitized, every };

/// By SLIPSTREAM_TESTS (`quick`, `sanitized` or `every`), else by how the program was built.
Column column_here();

/// Whether the n-th of many like cases runs here: all in `make test-all`, else one in `of`. Where n counts in what else
/// differs between tests, each case is run by some of them.
bool is_due(std::size_t n, std::size_t of);

/// GoogleTest's filter of what runs at so many ranks of what `asked` lets run. Who asks for tests by name, and not for
/// a column by SLIPSTREAM_TESTS, gets them: the table then says nothing. Throws Error where a test has no row, or a row
/// no test.
std::string filter(const std::string& asked, int ranks, Column column);

}  // namespace slipstream::ranks
