#pragma once
#include <string>
#include <string_view>

#include <slipstream/error.hpp>
#include <slipstream/mesh.hpp>

namespace slipstream {

/// The parsers behind read_mesh: `text` is all that the file holds, `path` goes into errors. Vertices are not yet
/// welded.
Mesh parse_obj(std::string_view text, const std::string& path);
Mesh parse_stl(std::string_view bytes, const std::string& path);

std::string obj_text(const Mesh& mesh);
std::string stl_bytes(const Mesh& mesh);

/// A path's last name without its ending: what a part is called that has no name.
std::string stem_of(const std::string& path);

/// Like require(), for what is checked a million times: the error is made only where it is needed.
template <class Made>
void require_with(bool condition, const Made& made) {
  if (!condition) throw Error(made());
}

/// Gives a part its number, a new one at its first mention.
std::int32_t part_number(Mesh& mesh, std::string_view name);

}  // namespace slipstream
