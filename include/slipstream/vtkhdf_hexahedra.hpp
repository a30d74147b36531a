#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <slipstream/communicator.hpp>
#include <slipstream/field.hpp>

namespace slipstream {

/// Elements of high order over time in one VTKHDF file (UnstructuredGrid, temporal, Lagrange hexahedra), which ParaView
/// opens by double click and draws curved.
///
/// The cells of VTK have equidistant nodes, and the elements here have others. The matrix `to_even` interpolates an
/// element's values along an edge to equidistant nodes, so the file holds the same polynomials. Positions are
/// interpolated in the same way. Elements share no points in the file; the mesh is written once. Nodes are in the order
/// of vtkLagrangeHexahedron: corners, edges, faces, inside.
///
/// Every rank writes its own elements, some at a time; with a serial HDF5 the others send theirs to rank 0. The file
/// does not depend on the number of ranks. Between two calls it is closed and complete. All members are collective,
/// except the destructor, which does nothing. Where one rank fails, all ranks throw the same Error.
class HexahedraSeries {
 public:
  struct Mesh {
    int order = 1;
    std::int64_t elements = 0;
    /// interpolation matrix of size (order + 1)^2: row i has the weights of nodes m for equidistant point i
    std::vector<double> to_even;
    /// Function that returns the positions of an element's nodes, i fastest. Each rank calls it for some elements.
    std::function<std::vector<std::array<double, 3>>(std::int64_t element)> places;
  };
  struct Item {
    std::string name;
    /// The values: f32 or f64, one component or three, on a grid of (order + 1)^3 nodes x elements x 1. The field's
    /// devices must be idle.
    const Field* field;
    std::string unit{};
  };

  /// Creates the file with the mesh and no steps, and replaces an existing one. With `up_to` it continues that one
  /// after its steps up to this time. Throws where it cannot; an existing file is unchanged then.
  HexahedraSeries(const Communicator& comm, std::string path, Mesh mesh, std::optional<double> up_to = {});
  HexahedraSeries(HexahedraSeries&&) noexcept;
  ~HexahedraSeries();

  /// Appends one time step. Times must increase, and every step has the same fields, of the same types and components.
  void write(double time, const std::vector<Item>& items);
  double last_time() const;  ///< time of the last step; minus infinity where there is none
  /// Ends the series: a later write() is an error.
  void close();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Index of each of VTK's nodes of a Lagrange hexahedron among (order + 1)^3 nodes with i fastest.
std::vector<std::int64_t> vtk_hexahedron_nodes(int order);

}  // namespace slipstream
