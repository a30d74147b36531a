#include <cstring>

#include <slipstream/error.hpp>

#include "io/mesh_files.hpp"
#include "io/mesh_text.hpp"
#include "io/mesh_vectors.hpp"

namespace slipstream {
namespace {

constexpr std::size_t header_bytes = 80, record_bytes = 50;

std::uint64_t triangles_announced(std::string_view bytes) {
  std::uint32_t count = 0;
  if (bytes.size() >= header_bytes + 4) std::memcpy(&count, bytes.data() + header_bytes, 4);
  return count;
}

std::size_t binary_size(std::uint64_t count) { return header_bytes + 4 + record_bytes * count; }

// Headers of binary files may begin with "solid", too; a text has no zero bytes, and goes on with a facet or an end.
bool is_ascii(std::string_view bytes) {
  const std::string_view start = bytes.substr(0, 4096);
  if (start.find('\0') != start.npos) return false;
  LineReader lines(start);
  std::string_view line;
  bool opened = false;
  while (lines.next(line)) {
    const std::string_view word = next_word(line);
    if (word.empty()) continue;
    if (opened) return word.starts_with("facet") || word.starts_with("endsolid");
    if (word != "solid") return false;
    opened = true;
  }
  return opened;
}

class AsciiParser {
 public:
  AsciiParser(std::string_view text, const std::string& path) : lines_(text), path_(path) {}

  Mesh parse() {
    std::int32_t part = -1;
    while (next()) {
      if (word_ == "solid") {
        name_ = trimmed(line_);
        part = -1;
      } else if (word_ == "facet") {
        if (part < 0) part = part_number(mesh_, name_.empty() ? stem_of(path_) : name_);
        read_facet();
        mesh_.part.push_back(part);
      } else {
        require_with(word_ == "endsolid", [&] { return unexpected("'facet' or 'endsolid'"); });
      }
    }
    return std::move(mesh_);
  }

 private:
  std::string where() const { return path_ + ", line " + std::to_string(lines_.number()) + ": "; }
  std::string unexpected(const std::string& wanted) const {
    return where() + "'" + std::string(word_) + "' stands where " + wanted + " is due";
  }

  // The next line that is not empty: word_ is its first word, line_ the rest.
  bool next() {
    while (lines_.next(line_)) {
      word_ = next_word(line_);
      if (!word_.empty()) return true;
    }
    return false;
  }

  void expect(std::string_view word) {
    require_with(next(), [&] { return path_ + ": ends in the middle of a triangle; the file is cut short"; });
    require_with(word_ == word, [&] { return unexpected(std::string("'").append(word).append("'")); });
  }

  void read_facet() {
    expect("outer");
    const auto first = static_cast<std::int32_t>(mesh_.vertices.size());
    for (int corner = 0; corner < 3; ++corner) {
      expect("vertex");
      Point p;
      for (int a = 0; a < 3; ++a) {
        word_ = next_word(line_);
        const auto value = to_number(word_);
        require_with(value.has_value(), [&] { return unexpected("a coordinate"); });
        p[a] = *value;
      }
      require_with(finite(p), [&] {
        return where() + "a vertex is at " + to_text(p) + ", which is no position; repair or export the mesh again";
      });
      mesh_.vertices.push_back(p);
    }
    expect("endloop");
    expect("endfacet");
    mesh_.triangles.push_back({first, first + 1, first + 2});
  }

  LineReader lines_;
  const std::string& path_;
  Mesh mesh_;
  std::string name_;
  std::string_view line_, word_;
};

Mesh parse_binary(std::string_view bytes, const std::string& path) {
  require_with(bytes.size() >= header_bytes + 4, [&] {
    return path + ": is neither ASCII STL nor long enough for binary STL (" + std::to_string(bytes.size()) +
           " bytes, the header alone has 84)";
  });
  const std::uint64_t count = triangles_announced(bytes);
  const std::uint64_t held = (bytes.size() - header_bytes - 4) / record_bytes;
  require(bytes.size() >= binary_size(count), path + ": announces " + std::to_string(count) + " triangles but holds " +
                                                  std::to_string(held) +
                                                  "; the file is cut short or is no STL: copy or export it again");
  require(3 * count <= static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max()),
          path + ": has " + std::to_string(count) + " triangles; at most 715827882 can be read");
  Mesh mesh;
  mesh.parts = {stem_of(path)};
  mesh.part.assign(count, 0);
  mesh.vertices.reserve(3 * count);
  mesh.triangles.reserve(count);
  for (std::uint64_t t = 0; t < count; ++t) {
    float corners[9];
    // Behind the normal, which the corners say better.
    std::memcpy(corners, bytes.data() + binary_size(t) + 12, sizeof corners);
    const auto first = static_cast<std::int32_t>(mesh.vertices.size());
    for (int corner = 0; corner < 3; ++corner) {
      const Point p{corners[3 * corner], corners[3 * corner + 1], corners[3 * corner + 2]};
      require_with(finite(p), [&] {
        return path + ": triangle " + std::to_string(t + 1) + " has a vertex at " + to_text(p) +
               ", which is no position; repair or export the mesh again";
      });
      mesh.vertices.push_back(p);
    }
    mesh.triangles.push_back({first, first + 1, first + 2});
  }
  return mesh;
}

}  // namespace

Mesh parse_stl(std::string_view bytes, const std::string& path) {
  const bool exact = bytes.size() >= header_bytes + 4 && bytes.size() == binary_size(triangles_announced(bytes));
  return !exact && is_ascii(bytes) ? AsciiParser(bytes, path).parse() : parse_binary(bytes, path);
}

std::string stl_bytes(const Mesh& mesh) {
  std::string bytes = "binary STL, " + std::to_string(mesh.triangles.size()) + " triangles";
  bytes.resize(header_bytes, ' ');
  const auto count = static_cast<std::uint32_t>(mesh.triangles.size());
  bytes.append(reinterpret_cast<const char*>(&count), 4);
  for (const auto& [a, b, c] : mesh.triangles) {
    const Point normal = cross(mesh.vertices[b] - mesh.vertices[a], mesh.vertices[c] - mesh.vertices[a]);
    const double norm = length(normal);
    float values[12];
    for (int axis = 0; axis < 3; ++axis) {
      values[axis] = norm > 0 ? static_cast<float>(normal[axis] / norm) : 0.0f;
      values[3 + axis] = static_cast<float>(mesh.vertices[a][axis]);
      values[6 + axis] = static_cast<float>(mesh.vertices[b][axis]);
      values[9 + axis] = static_cast<float>(mesh.vertices[c][axis]);
    }
    bytes.append(reinterpret_cast<const char*>(values), sizeof values);
    bytes.append(2, '\0');
  }
  return bytes;
}

}  // namespace slipstream
