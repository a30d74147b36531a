#include <cstdio>

#include <slipstream/error.hpp>

#include "io/mesh_files.hpp"
#include "io/mesh_text.hpp"
#include "io/mesh_vectors.hpp"
#include "io/polygon.hpp"

namespace slipstream {
namespace {

/// Faces may name vertices that stand further down, so they are cut into triangles at the end.
struct Face {
  std::size_t first, last;  ///< of its corners
  std::int64_t line;
  std::int32_t part;
};

class ObjParser {
 public:
  explicit ObjParser(const std::string& path) : path_(path) {}

  Mesh parse(std::string_view text) {
    LineReader lines(text);
    std::string_view line;
    while (lines.next(line, '#')) {
      line_ = lines.number();
      const std::string_view word = next_word(line);
      if (word == "v") read_vertex(line);
      if (word == "f") read_face(line);
      if (word == "o" || word == "g") {
        name_ = trimmed(line);
        part_ = -1;
      }
    }
    for (const Face& face : faces_) cut(face);
    return std::move(mesh_);
  }

 private:
  std::string where(std::int64_t line) const { return path_ + ", line " + std::to_string(line) + ": "; }

  void read_vertex(std::string_view line) {
    Point p;
    for (int a = 0; a < 3; ++a) {
      const std::string_view word = next_word(line);
      const auto value = to_number(word);
      require_with(value.has_value(), [&] {
        return where(line_) + "a vertex needs three numbers, and '" + std::string(word) + "' is none";
      });
      p[a] = *value;
    }
    require_with(finite(p), [&] {
      return where(line_) + "vertex " + std::to_string(mesh_.vertices.size() + 1) + " is at " + to_text(p) +
             ", which is no position; repair or export the mesh again";
    });
    mesh_.vertices.push_back(p);
  }

  void read_face(std::string_view line) {
    const std::size_t first = corners_.size();
    const auto known = static_cast<std::int64_t>(mesh_.vertices.size());
    for (std::string_view word = next_word(line); !word.empty(); word = next_word(line)) {
      const auto index = to_integer(word.substr(0, word.find('/')));
      require_with(index.has_value() && *index != 0, [&] {
        return where(line_) + "'" + std::string(word) + "' does not name a corner of a face; vertices count from 1";
      });
      require_with(*index > 0 || -*index <= known, [&] {
        return where(line_) + "a face goes " + std::to_string(-*index) + " vertices back, but only " +
               std::to_string(known) + " stand above";
      });
      corners_.push_back(*index > 0 ? *index - 1 : known + *index);
    }
    require_with(corners_.size() - first >= 3, [&] {
      return where(line_) + "a face has " + std::to_string(corners_.size() - first) +
             " corners; it needs three or more";
    });
    if (part_ < 0) part_ = part_number(mesh_, name_.empty() ? stem_of(path_) : std::string(name_));
    faces_.push_back({first, corners_.size(), line_, part_});
  }

  void cut(const Face& face) {
    polygon_.clear();
    for (std::size_t c = face.first; c < face.last; ++c) {
      require_with(corners_[c] < static_cast<std::int64_t>(mesh_.vertices.size()), [&] {
        return where(face.line) + "a face names vertex " + std::to_string(corners_[c] + 1) + ", but the file has " +
               std::to_string(mesh_.vertices.size()) + "; it may be cut short";
      });
      polygon_.push_back(static_cast<std::int32_t>(corners_[c]));
    }
    triangulate(mesh_.vertices, polygon_, mesh_.triangles);
    mesh_.part.resize(mesh_.triangles.size(), face.part);
  }

  const std::string& path_;
  Mesh mesh_;
  std::vector<std::int64_t> corners_;
  std::vector<Face> faces_;
  std::vector<std::int32_t> polygon_;
  std::string name_;
  std::int32_t part_ = -1;  ///< -1: not asked for yet, so that parts without faces leave no trace
  std::int64_t line_ = 0;
};

}  // namespace

Mesh parse_obj(std::string_view text, const std::string& path) { return ObjParser(path).parse(text); }

std::string obj_text(const Mesh& mesh) {
  std::string text;
  char line[128];
  for (const Point& p : mesh.vertices) {
    std::snprintf(line, sizeof line, "v %.17g %.17g %.17g\n", p[0], p[1], p[2]);
    text += line;
  }
  std::int32_t part = -1;
  for (std::size_t t = 0; t < mesh.triangles.size(); ++t) {
    if (mesh.part[t] != part) {
      part = mesh.part[t];
      text += "o " + mesh.parts[part] + "\n";
    }
    const auto& [a, b, c] = mesh.triangles[t];
    std::snprintf(line, sizeof line, "f %d %d %d\n", a + 1, b + 1, c + 1);
    text += line;
  }
  return text;
}

}  // namespace slipstream
