#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>

#include <slipstream/error.hpp>

#include "geometry/mesh_files.hpp"
#include "geometry/mesh_text.hpp"
#include "geometry/mesh_vectors.hpp"

namespace slipstream {
namespace {

constexpr std::size_t header_bytes = 80, record_bytes = 50;

std::uint64_t triangles_announced(std::string_view bytes) {
  std::uint32_t count = 0;
  if (bytes.size() >= header_bytes + 4) std::memcpy(&count, bytes.data() + header_bytes, 4);
  return count;
}

std::size_t binary_size(std::uint64_t count) { return header_bytes + 4 + record_bytes * count; }

// Whether more triangles follow the announced ones, which would be lost silently. Trailing zeros are padding.
bool goes_on(std::string_view bytes, std::uint64_t count) {
  const std::string_view rest = bytes.substr(binary_size(count));
  return rest.size() >= record_bytes && rest.find_first_not_of('\0') != rest.npos;
}

// Whether a file is binary. Its header may begin with "solid", too. In a text file the count's bytes are letters, and
// announce far more triangles than the file holds.
bool is_binary(std::string_view bytes) {
  const std::uint64_t count = triangles_announced(bytes), size = binary_size(count);
  return bytes.size() >= header_bytes + 4 &&
         (bytes.size() == size || (count > 0 && bytes.size() > size && !goes_on(bytes, count)));
}

// Keywords of text files, which are compared in lower case. Only the first word of the line of a solid or facet is one.
constexpr std::array<std::string_view, 7> keywords{"solid",   "facet",    "outer",   "vertex",
                                                   "endloop", "endfacet", "endsolid"};

/// Removes the leading keyword from a line and returns it; empty if there is none.
std::string_view cut_keyword(std::string_view& line) {
  std::string_view rest = line, word = next_word(rest);
  // Most words of an STL text file are numbers. They begin with a character below 'A' and are no keywords.
  if (word.empty() || word.front() < 'A') return {};
  std::string joined;
  if (is_keyword(word, "end")) word = joined = "end" + std::string(next_word(rest));
  for (const std::string_view keyword : keywords)
    if (is_keyword(word, keyword)) {
      line = rest;
      return keyword;
    }
  return {};
}

/// Removes zero bytes: some programs pad the line with the name of a solid by these.
std::string_view without_padding(std::string_view line) {
  const std::string_view filled = line.substr(0, line.find('\0'));
  std::string_view rest = filled;
  return filled.size() < line.size() && cut_keyword(rest).ends_with("solid") ? filled : line;
}

// Whether a file is text. Throws if it is no STL: a truncated binary file has no line that begins with "facet".
bool is_ascii(std::string_view bytes, const std::string& path) {
  LineReader lines(bytes.substr(0, 1 << 16), path);
  std::string_view line;
  bool opened = false;
  while (lines.next(line)) {
    line = without_padding(line);
    const std::string_view keyword = cut_keyword(line);
    if (opened && (keyword == "facet" || keyword == "endsolid")) return true;
    if (keyword == "solid")
      opened = true;
    else if (!opened && !keyword.empty())
      return false;
  }
  return false;
}

class AsciiParser {
 public:
  AsciiParser(std::string_view text, const std::string& path) : lines_(text, path), path_(path) {}

  Mesh parse() {
    std::int32_t part = -1;
    bool in_facets = false;
    while (next()) {
      if (keyword_ == "facet") {
        if (part < 0) part = part_number(mesh_, name_.empty() ? stem_of(path_) : name_);
        read_facet();
        mesh_.part.push_back(part);
        in_facets = true;
      } else if (keyword_.ends_with("solid")) {
        if (keyword_ == "solid") {
          name_ = to_utf8(trimmed(line_));
          part = -1;
        }
        line_ = {};
        in_facets = false;
      } else {
        // Lines outside of solids may have any words, as programs put their name and the date there.
        require_with(keyword_.empty() && !in_facets, [&] { return unexpected("facet' or 'endsolid"); });
        line_ = {};
      }
    }
    return std::move(mesh_);
  }

 private:
  Error unexpected(const std::string& wanted) const {
    const std::string_view word = keyword_.empty() ? word_ : keyword_;
    return lines_.wrong(quoted(word) + " stands where '" + wanted + "' is due",
                        {{"word", shown(word)}, {"expected", wanted}});
  }

  // Advances to the next keyword, which may be on the same line. Otherwise it advances to the first word of the next
  // line that is neither empty nor a comment.
  bool next() {
    while (!line_.empty()) {
      keyword_ = cut_keyword(line_);
      if (!keyword_.empty()) return true;
      next_word(line_);
    }
    while (lines_.next(line_)) {
      line_ = without_padding(line_);
      keyword_ = cut_keyword(line_);
      if (!keyword_.empty()) return true;
      word_ = next_word(line_);
      if (!word_.empty() && word_.front() != '#' && word_.front() != ';' && !word_.starts_with("//")) return true;
    }
    return false;
  }

  void expect(std::string_view keyword) {
    require_with(next(), [&] {
      return Error(ErrorCode::bad_file, path_ + ": ends in the middle of a triangle; the file is cut short",
                   {{"file", path_}, {"missing", std::string(keyword)}});
    });
    require_with(keyword_ == keyword, [&] { return unexpected(std::string(keyword)); });
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
        require_with(value.has_value(), [&] {
          return lines_.wrong(quoted(word_) + " stands where a coordinate is due",
                              {{"word", shown(word_)}, {"expected", "coordinate"}});
        });
        p[a] = *value;
      }
      require_with(finite(p), [&] {
        return lines_.wrong("a vertex is at " + to_text(p) + ", which is no position; repair or export the mesh again",
                            {{"position", to_text(p)}});
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
  std::string_view line_, word_, keyword_;  ///< unread rest of the STL file's current line, its last word, its keyword
};

void require_binary(std::string_view bytes, const std::string& path) {
  require_with(bytes.size() >= header_bytes + 4, [&] {
    return Error(ErrorCode::bad_file,
                 path + ": is neither ASCII STL nor long enough for binary STL (" + std::to_string(bytes.size()) +
                     " bytes, the header alone has 84)",
                 {{"file", path}, {"bytes", bytes.size()}, {"needed", header_bytes + 4}});
  });
  const std::string_view start = bytes.substr(0, header_bytes + 4);
  if (!(std::any_of(start.begin(), start.end(), [](char c) { return c >= 0 && c < ' ' && !std::isspace(c); })))
    throw Error(
        ErrorCode::bad_file,
        path +
            ": is text, but not of an STL file, which begins with 'solid' and goes on with lines that begin with "
            "'facet'; export it again, or name it by what it is",
        {{"file", path}, {"expected", "solid"}});
  const std::uint64_t count = triangles_announced(bytes);
  const std::uint64_t held = (bytes.size() - header_bytes - 4) / record_bytes;
  const std::string said =
      path + ": announces " + std::to_string(count) + " triangles but holds " + std::to_string(held);
  const Facts facts{{"file", path}, {"announced", count}, {"held", held}};
  require(bytes.size() >= binary_size(count), ErrorCode::bad_file,
          said + "; the file is cut short or is no STL: copy or export it again", facts);
  require(!goes_on(bytes, count), ErrorCode::bad_file,
          said + "; the others would be lost: export it again, as one solid", facts);
}

Mesh parse_binary(std::string_view bytes, const std::string& path) {
  require_binary(bytes, path);
  const std::uint64_t count = triangles_announced(bytes);
  if (3 * count > static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max()))
    throw Error(ErrorCode::unsupported,
                path + ": has " + std::to_string(count) + " triangles; at most 715827882 can be read",
                {{"file", path}, {"given", count}, {"limit", 715827882}});
  Mesh mesh;
  mesh.parts = {stem_of(path)};
  mesh.part.assign(count, 0);
  mesh.vertices.reserve(3 * count);
  mesh.triangles.reserve(count);
  for (std::uint64_t t = 0; t < count; ++t) {
    float corners[9];
    // The normal is skipped, because the corners define it more precisely.
    std::memcpy(corners, bytes.data() + binary_size(t) + 12, sizeof corners);
    const auto first = static_cast<std::int32_t>(mesh.vertices.size());
    for (int corner = 0; corner < 3; ++corner) {
      const Point p{corners[3 * corner], corners[3 * corner + 1], corners[3 * corner + 2]};
      require_with(finite(p), [&] {
        return Error(ErrorCode::bad_file,
                     path + ": triangle " + std::to_string(t + 1) + " has a vertex at " + to_text(p) +
                         ", which is no position; repair or export the mesh again",
                     {{"file", path}, {"triangle", t + 1}, {"position", to_text(p)}});
      });
      mesh.vertices.push_back(p);
    }
    mesh.triangles.push_back({first, first + 1, first + 2});
  }
  return mesh;
}

}  // namespace

Mesh parse_stl(std::string_view bytes, const std::string& path) {
  return !is_binary(bytes) && is_ascii(bytes, path) ? AsciiParser(bytes, path).parse() : parse_binary(bytes, path);
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
