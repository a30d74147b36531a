#pragma once
// Files of fields on elements, from Python.
#include <array>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <slipstream/nek_file.hpp>
#include <slipstream/sem_solver.hpp>
#include <slipstream/vtkhdf_hexahedra.hpp>

#include "api/python_common.hpp"

namespace slipstream::python {

/// Names a field of the state, or is an array of this rank's elements, [element][t][s][r] or with components behind,
/// f32 or f64.
using Given = std::pair<std::string, nb::object>;

/// Fields of a solver's state, and those made of arrays.
class GivenFields {
 public:
  explicit GivenFields(sem::ElementSolver& solver) : solver_(solver) {}
  /// Throws Error mismatch, with the facts "field", "given" and "needed", where an array is of another shape or type.
  /// Needs the interpreter. The field lives as long as this.
  const Field& of(const Given& given);

 private:
  sem::ElementSolver& solver_;
  std::list<Field> made_;
};

/// Elements of this rank: the first, and the one behind the last.
std::array<std::int64_t, 2> elements_of_rank(sem::ElementSolver& solver);

/// Places of this rank's points, [element][t][s][r][x y z].
nb::object places_of_rank(sem::ElementSolver& solver);

/// Fields over time as Lagrange hexahedra. Writes are collective.
class ElementSeries {
 public:
  ElementSeries(sem::ElementSolver& solver, const std::string& path, std::optional<double> up_to);
  /// Fields of the state with their units, and arrays.
  void write(double time, const std::vector<std::pair<std::string, std::string>>& items,
             const std::vector<Given>& arrays);
  double last_time() const { return series_.last_time(); }
  void close() { series_.close(); }

 private:
  sem::ElementSolver& solver_;
  HexahedraSeries series_;
};

/// A field file of Nek5000 of this moment; names are U, P, T, S01 and so on, and with places X. Collective.
void write_nek(sem::ElementSolver& solver, const std::string& path, int word_bytes, bool places,
               const std::vector<Given>& items);

/// The start of a solver on a box, from a field of a file, interpolated where the orders differ. Places are compared
/// where the file has them, at the points that both orders share. Throws Error mismatch with the facts "file" and
/// "problem": elements (with "given" and "needed") or places (with "element" and "place").
std::function<std::vector<double>(std::int64_t first, std::int64_t last)> start_from(const std::string& path,
                                                                                     const std::string& field,
                                                                                     const sem::ElementBox& box,
                                                                                     int order);

void bind_element_files(nb::module_& m);

}  // namespace slipstream::python
