#include <cstdio>

#include <slipstream/error.hpp>

#include "device/decimal_point.hpp"
#include "geometry/mesh_files.hpp"
#include "geometry/mesh_text.hpp"
#include "geometry/mesh_vectors.hpp"
#include "geometry/polygon.hpp"

namespace slipstream {
namespace {

/// A face of the file. It may use vertices that are defined later, so faces are triangulated at the end of the file.
struct Face {
  std::size_t first, last;  ///< range of the face's corners in the list of corners
  std::int64_t line;
  std::int32_t part;
};

class ObjParser {
 public:
  ObjParser(std::string_view text, const std::string& path) : lines_(text, path), path_(path) {
    const std::size_t zero = text.find('\0');
    require(zero == text.npos, ErrorCode::bad_file,
            path + ": byte " + std::to_string(zero) +
                " is 0, which no text holds; the file is damaged or no OBJ: copy or export it again",
            {{"file", path}, {"byte", zero}});
  }

  Mesh parse() {
    std::string_view line;
    while (lines_.next_joined(line)) {
      const std::string_view word = next_word(line);
      if (is_keyword(word, "v")) {
        read_vertex(line);
      } else if (is_keyword(word, "f") || is_keyword(word, "fo")) {
        read_face(line);
      } else if (is_keyword(word, "o") || is_keyword(word, "g")) {
        name_ = to_utf8(trimmed(line));
        part_ = -1;
      } else if (!word.empty()) {
        require_harmless(word);
      }
    }
    for (const Face& face : faces_) cut(face);
    return std::move(mesh_);
  }

 private:
  /// Ignores an unknown statement, but throws if it may be a lost part of the surface.
  void require_harmless(std::string_view word) const {
    const auto first = static_cast<unsigned char>(word.front());
    require_with(first < 0x80 && std::string_view("0123456789+-.\\").find(word.front()) == word.npos, [&] {
      return lines_.wrong(quoted(word) +
                              " begins no statement of OBJ; the line above may be broken, or characters that are not "
                              "seen stand in front",
                          {{"word", shown(word)}, {"expected", "statement"}});
    });
    for (const std::string_view curved : {"surf", "bzp", "bsp", "cdp"})
      require_with(!is_keyword(word, curved), [&] {
        return lines_.wrong(quoted(word) + " is a curved surface, and only polygons are read; export it as polygons",
                            {{"word", shown(word)}, {"expected", "polygon"}});
      });
  }

  void read_vertex(std::string_view line) {
    Point p;
    for (int a = 0; a < 3; ++a) {
      const std::string_view word = next_word(line);
      const auto value = to_number(word);
      require_with(value.has_value(), [&] {
        return lines_.wrong("a vertex needs three numbers, and " + quoted(word) + " is none",
                            {{"word", shown(word)}, {"expected", "coordinate"}});
      });
      p[a] = *value;
    }
    // After a vertex only a weight or a colour may follow; other words may be a statement that lost its line break.
    for (std::string_view word = next_word(line); !word.empty(); word = next_word(line))
      require_with(to_number(word).has_value(), [&] {
        return lines_.wrong(quoted(word) + " follows a vertex, where only numbers may; is a line break missing?",
                            {{"word", shown(word)}, {"expected", "number"}});
      });
    require_with(finite(p), [&] {
      const std::size_t vertex = mesh_.vertices.size() + 1;
      return lines_.wrong("vertex " + std::to_string(vertex) + " is at " + to_text(p) +
                              ", which is no position; repair or export the mesh again",
                          {{"vertex", vertex}, {"position", to_text(p)}});
    });
    mesh_.vertices.push_back(p);
  }

  void read_face(std::string_view line) {
    const std::size_t first = corners_.size();
    const auto known = static_cast<std::int64_t>(mesh_.vertices.size());
    for (std::string_view word = next_word(line); !word.empty(); word = next_word(line)) {
      const auto index = to_integer(word.substr(0, word.find('/')));
      require_with(index.has_value() && *index != 0, [&] {
        return lines_.wrong(quoted(word) + " does not name a corner of a face; vertices count from 1",
                            {{"word", shown(word)}, {"expected", "corner"}});
      });
      require_with(*index > 0 || -*index <= known, [&] {
        return lines_.wrong("a face goes " + std::to_string(-*index) + " vertices back, but only " +
                                std::to_string(known) + " stand above",
                            {{"vertex", *index}, {"vertices", known}});
      });
      corners_.push_back(*index > 0 ? *index - 1 : known + *index);
    }
    require_with(corners_.size() - first >= 3, [&] {
      return lines_.wrong("a face has " + std::to_string(corners_.size() - first) + " corners; it needs three or more",
                          {{"corners", corners_.size() - first}});
    });
    if (part_ < 0) part_ = part_number(mesh_, name_.empty() ? stem_of(path_) : name_);
    faces_.push_back({first, corners_.size(), lines_.number(), part_});
  }

  void cut(const Face& face) {
    polygon_.clear();
    for (std::size_t c = face.first; c < face.last; ++c) {
      require_with(corners_[c] < static_cast<std::int64_t>(mesh_.vertices.size()), [&] {
        return lines_.wrong(face.line,
                            "a face names vertex " + std::to_string(corners_[c] + 1) + ", but the file has " +
                                std::to_string(mesh_.vertices.size()) + "; it may be cut short",
                            {{"vertex", corners_[c] + 1}, {"vertices", mesh_.vertices.size()}});
      });
      polygon_.push_back(static_cast<std::int32_t>(corners_[c]));
    }
    triangulate(mesh_.vertices, polygon_, mesh_.triangles);
    mesh_.part.resize(mesh_.triangles.size(), face.part);
  }

  LineReader lines_;
  const std::string& path_;
  Mesh mesh_;
  std::vector<std::int64_t> corners_;
  std::vector<Face> faces_;
  std::vector<std::int32_t> polygon_;
  std::string name_;
  std::int32_t part_ = -1;  ///< current part; -1: made at the first face, so that parts without faces leave no trace
};

}  // namespace

Mesh parse_obj(std::string_view text, const std::string& path) { return ObjParser(text, path).parse(); }

std::string obj_text(const Mesh& mesh) {
  const DecimalPoint point;
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
