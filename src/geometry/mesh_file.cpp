#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <slipstream/error.hpp>

#include "geometry/mesh_files.hpp"

namespace slipstream {
namespace {

namespace fs = std::filesystem;

std::string ending_of(const std::string& path) {
  std::string ending = fs::path(path).extension().string();
  for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  require(ending == ".obj" || ending == ".stl",
          path + ": the ending '" + ending + "' is not one of a mesh file; name it .obj or .stl",
          {{"file", path}, {"ending", ending}});
  return ending;
}

std::string contents_of(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  require(
      fs::exists(status), ErrorCode::not_found,
      path + ": there is no such mesh file; check the path, which is relative to " + fs::current_path(error).string(),
      {{"file", path}});
  require(fs::is_regular_file(status), ErrorCode::io, path + ": is not a file", {{"file", path}});
  std::ifstream file(path, std::ios::binary);
  require(file.good(), ErrorCode::io, path + ": cannot be opened: " + std::strerror(errno), {{"file", path}});
  std::string text(fs::file_size(path), '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  require(
      file.gcount() == static_cast<std::streamsize>(text.size()), ErrorCode::io,
      path + ": only " + std::to_string(file.gcount()) + " of " + std::to_string(text.size()) + " bytes can be read",
      {{"file", path}});
  return text;
}

}  // namespace

std::string stem_of(const std::string& path) { return fs::path(path).stem().string(); }

std::int32_t part_number(Mesh& mesh, std::string_view name) {
  const auto found = std::find(mesh.parts.begin(), mesh.parts.end(), name);
  if (found == mesh.parts.end()) {
    mesh.parts.emplace_back(name);
    return static_cast<std::int32_t>(mesh.parts.size()) - 1;
  }
  return static_cast<std::int32_t>(found - mesh.parts.begin());
}

Mesh read_mesh(const std::string& path) {
  const bool obj = ending_of(path) == ".obj";
  const std::string text = contents_of(path);
  const Mesh mesh = obj ? parse_obj(text, path) : parse_stl(text, path);
  require(!mesh.triangles.empty(), ErrorCode::bad_file,
          path + ": holds no triangles; export the surface, not only points or lines",
          {{"file", path}, {"triangles", 0}});
  return weld(mesh);
}

void write_mesh(const std::string& path, const Mesh& mesh) {
  const bool obj = ending_of(path) == ".obj";
  const std::string text = obj ? obj_text(mesh) : stl_bytes(mesh);
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  require(file.good(), ErrorCode::io, path + ": cannot be written: " + std::strerror(errno), {{"file", path}});
}

}  // namespace slipstream
