#pragma once
// The keys of case files, for the program that makes the schema and tables of the documentation.
#include "api/python_common.hpp"
#include "solver/common/case_table.hpp"

namespace slipstream::python {

nb::dict table_dict(const CaseTable& table);

}  // namespace slipstream::python
