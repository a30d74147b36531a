#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <slipstream/communicator.hpp>
#include <slipstream/field.hpp>

namespace slipstream {

/// Reader and writer of Nek5000 and nekRS field files (NAME0.f00000), with all elements in one file, in three
/// dimensions.
///
/// - 132 characters: "#std", bytes of a word, points along r, s and t, elements here and in all, time, step, number and
///   count of files, code.
/// - f32: 6.54321. It determines the byte order.
/// - i32: numbers of the elements, from 1.
/// - f32 or f64, by the code: X places, U velocity, P pressure, T temperature, S01, S02, ... scalars. Each element has
///   its components one after the other. Values lie at Gauss-Lobatto-Legendre points, i fastest.
/// - f32: the least and the largest value of each element and component, in the same order.
///
/// Source: the Nek5000 user's guide, "Restart/output files", and Nek5000's core/prepost.f.

/// The fields of a file. All are f32 or f64 on a grid of (order + 1)^3 nodes x elements x 1, nodes i fastest.
struct NekFields {
  int order = 1;
  std::int64_t elements = 0;
  /// Function that returns the positions of an element's nodes, for elements of the calling rank. None: no X in file.
  std::function<std::vector<std::array<double, 3>>(std::int64_t element)> places = {};
  const Field* velocity = nullptr;  ///< velocity field of three components
  const Field* pressure = nullptr;
  const Field* temperature = nullptr;
  std::vector<const Field*> scalars = {};  ///< scalar fields, 99 at most
};

/// Writes a file and replaces an existing one. It is written under a temporary name and renamed at the end. Every rank
/// writes its own elements. `word_bytes`: 4 or 8. The devices must be idle. Collective. Where one rank fails, all throw
/// the same Error, and an existing file is unchanged.
void write_nek_file(const Communicator& comm, const std::string& path, double time, std::int64_t step, int word_bytes,
                    const NekFields& fields);

/// Reads files of either byte order. No call is collective.
class NekFile {
 public:
  /// Reads the header and the elements' numbers. Throws Error with the fact "file". The code is not_found for a missing
  /// file. It is bad_file for a damaged one, with "problem" as header, endian, length or numbers. It is unsupported for
  /// two dimensions and for one of several files, with "problem" as dimensions or files.
  explicit NekFile(std::string path);

  const std::string& path() const { return path_; }
  int order() const { return order_; }
  int word_bytes() const { return word_; }
  std::int64_t elements() const { return static_cast<std::int64_t>(position_.size()); }
  double time() const { return time_; }
  std::int64_t step() const { return step_; }
  /// The fields in the file, of X, U, P, T, S01 and so on.
  const std::vector<std::string>& fields() const { return fields_; }
  /// Values of one element, [component][node], of a field among fields(). Throws Error not_found for other fields.
  std::vector<double> read(const std::string& field, std::int64_t element) const;

 private:
  std::string path_;
  int order_ = 0, word_ = 4;
  bool swapped_ = false;
  double time_ = 0;
  std::int64_t step_ = 0;
  std::vector<std::string> fields_;
  std::vector<std::int64_t> position_;  ///< position of each element in the file
};

}  // namespace slipstream
