#pragma once
// The keys of case files, for the program that makes the schema and tables of the documentation.
#include "api/python_common.hpp"
#include "solver/common/case_table.hpp"

namespace slipstream::python {

/// `case_tables()` of a solver's module.
void bind_case_tables(nb::module_& m, std::vector<CaseTable> (*tables)());

}  // namespace slipstream::python
