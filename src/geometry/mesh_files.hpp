#pragma once
#include <string>
#include <string_view>

#include <slipstream/error.hpp>
#include <slipstream/mesh.hpp>

namespace slipstream {

/// Parsers of mesh files for read_mesh. `text` is the whole file; `path` is for errors. Vertices are not welded yet.
Mesh parse_obj(std::string_view text, const std::string& path);
Mesh parse_stl(std::string_view bytes, const std::string& path);

std::string obj_text(const Mesh& mesh);
std::string stl_bytes(const Mesh& mesh);

/// File name without its extension, which is the name of a part that has none.
std::string stem_of(const std::string& path);

/// Throws if a condition is false, like require(), but builds the error only then; for inner loops.
template <class Made>
void require_with(bool condition, const Made& made) {
  if (!condition) throw Error(made());
}

/// Index of the part of this name; a new name gets the next index.
std::int32_t part_number(Mesh& mesh, std::string_view name);

}  // namespace slipstream
