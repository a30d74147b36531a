#pragma once
// Binds the keys of case files, for the program that makes the schema and tables of the documentation.
#include "api/python_common.hpp"
#include "solver/common/case_table.hpp"

namespace slipstream::python {

/// Binds the function `case_tables()` of a solver's module, which returns the solver's keys.
void bind_case_tables(nb::module_& m, std::vector<CaseTable> (*tables)());

}  // namespace slipstream::python
