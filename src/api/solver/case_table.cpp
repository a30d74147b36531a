#include "api/solver/case_table.hpp"

#include <nanobind/stl/variant.h>

namespace slipstream::python {
namespace {

nb::dict values_dict(const KeyValues& values) {
  constexpr const char* kinds[] = {"flag", "integer", "number", "name", "size"};
  nb::dict d;
  d["kind"] = kinds[static_cast<std::size_t>(values.kind)];
  d["above"] = nb::cast(values.above);
  d["least"] = nb::cast(values.least);
  d["most"] = nb::cast(values.most);
  d["finite"] = values.finite;
  d["names"] = nb::cast(values.names);
  d["only"] = nb::cast(values.only);
  d["shape"] = nb::cast(values.shape);
  d["expression"] = values.expression;
  return d;
}

nb::dict table_dict(const CaseTable& table) {
  nb::list keys;
  for (const Key& key : table.keys) {
    nb::dict d;
    d["name"] = key.name;
    nb::list values;
    for (const KeyValues& kind : key.values) values.append(values_dict(kind));
    d["values"] = values;
    d["needed"] = !key.otherwise;
    d["default"] = key.otherwise ? nb::cast(*key.otherwise) : nb::none();
    d["unit"] = key.unit;
    d["meaning"] = key.meaning;
    keys.append(d);
  }
  nb::dict found;
  found["name"] = table.name;
  found["title"] = table.title.empty() ? table.name : table.title;
  found["bases"] = nb::cast(table.bases);
  found["meaning"] = table.meaning;
  found["keys"] = keys;
  return found;
}

}  // namespace

void bind_case_tables(nb::module_& m, std::vector<CaseTable> (*tables)()) {
  m.def(
      "case_tables",
      [tables] {
        nb::list found;
        for (const CaseTable& table : tables()) found.append(table_dict(table));
        return found;
      },
      "The keys of the solver's table in a case file.");
}

}  // namespace slipstream::python
