#pragma once
// Reads and writes files of fields on elements, from Python.
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

/// A field to write: the name of a field of the state, or an array of this rank's elements, [element][t][s][r] or with
/// components last, f32 or f64.
using Given = std::pair<std::string, nb::object>;

/// Fields to write: those of a solver's state, and those made of arrays.
class GivenFields {
 public:
  explicit GivenFields(sem::ElementSolver& solver) : solver_(solver) {}
  /// Makes a field of an array. Throws Error mismatch, with the facts "field", "given" and "needed", if the array has
  /// another shape or type. Needs the interpreter. The field lives as long as this object.
  const Field& of(const Given& given);

 private:
  sem::ElementSolver& solver_;
  std::list<Field> made_;
};

/// Range of this rank's elements: index of the first one, and one past the last.
std::array<std::int64_t, 2> elements_of_rank(sem::ElementSolver& solver);

/// Coordinates of this rank's points, [element][t][s][r][x y z].
nb::object places_of_rank(sem::ElementSolver& solver);

/// Writes fields over time as Lagrange hexahedra. Writes are collective.
class ElementSeries {
 public:
  ElementSeries(sem::ElementSolver& solver, const std::string& path, std::optional<double> up_to);
  /// Writes fields for a time: fields of the state, given by name and unit, and arrays.
  void write(double time, const std::vector<std::pair<std::string, std::string>>& items,
             const std::vector<Given>& arrays);
  double last_time() const { return series_.last_time(); }
  void close() { series_.close(); }

 private:
  sem::ElementSolver& solver_;
  HexahedraSeries series_;
};

/// Writes a field file of Nek5000 for the current time. Names of fields are U, P, T, S01 and so on; `places` also
/// writes coordinates. Collective.
void write_nek(sem::ElementSolver& solver, const std::string& path, int word_bytes, bool places,
               const std::vector<Given>& items);

/// Returns the initial values for a solver on a box from a field of a file, interpolated if the orders differ.
/// Coordinates are compared if the file has them, at the points that both orders share. Throws Error mismatch with the
/// facts "file" and "problem": elements (with "given" and "needed") or places (with "element" and "place").
std::function<std::vector<double>(std::int64_t first, std::int64_t last)> start_from(const std::string& path,
                                                                                     const std::string& field,
                                                                                     const sem::ElementBox& box,
                                                                                     int order);

void bind_element_files(nb::module_& m);

}  // namespace slipstream::python
