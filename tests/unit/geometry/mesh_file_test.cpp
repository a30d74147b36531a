#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <slipstream/error.hpp>
#include <slipstream/mesh.hpp>

#include "support/expect_error.hpp"

namespace slipstream {
namespace {

namespace fs = std::filesystem;

class MeshFile : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("slipstream-mesh-" + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string file(const std::string& name, const std::string& content) const {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }
  void expect_bad(const std::string& name, const std::string& content, Facts facts) const {
    const std::string at = file(name, content);
    facts.emplace_back("file", at);
    expect_error([&] { read_mesh(at); }, name.ends_with(".ply") ? ErrorCode::invalid_argument : ErrorCode::bad_file,
                 facts);
  }

  fs::path folder_;
};

std::string binary_stl(const std::string& header, std::uint32_t announced, const std::vector<float>& coordinates) {
  std::string bytes = header;
  bytes.resize(80, '\0');
  bytes.append(reinterpret_cast<const char*>(&announced), 4);
  for (std::size_t first = 0; first < coordinates.size(); first += 9) {
    bytes.append(12, '\0');
    bytes.append(reinterpret_cast<const char*>(&coordinates[first]), 36);
    bytes.append(2, '\0');
  }
  return bytes;
}

std::string ascii_facet(const std::string& a, const std::string& b, const std::string& c) {
  return "  facet normal 0 0 0\n    outer loop\n      vertex " + a + "\n      vertex " + b + "\n      vertex " + c +
         "\n    endloop\n  endfacet\n";
}

// The unit cube as six quadrilaterals.
const char* const cube_corners = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 1\nv 1 0 1\nv 1 1 1\nv 0 1 1\n";
const char* const cube_faces = "f 1 4 3 2\nf 5 6 7 8\nf 1 2 6 5\nf 2 3 7 6\nf 3 4 8 7\nf 4 1 5 8\n";

TEST_F(MeshFile, ObjPolygonsBecomeAClosedSurface) {
  const Mesh mesh = read_mesh(file("cube.obj", std::string("# a cube\n") + cube_corners + cube_faces));
  EXPECT_EQ(mesh.triangles.size(), 12u);
  EXPECT_TRUE(find_flaws(mesh).watertight());
  EXPECT_DOUBLE_EQ(volume(mesh), 1);
  EXPECT_DOUBLE_EQ(area(mesh), 6);
  EXPECT_EQ(mesh.parts, std::vector<std::string>{"cube"});
}

TEST_F(MeshFile, ObjFacesMayCountBackwardsAndForwardsAndBreakLines) {
  const std::string negative =
      "f -8 -5 -6 -7\nf -4 -3 \\\n -2 -1\nf -8 -7 -3 -4\nf -7 -6 -2 -3\nf -6 -5 -1 -2\nf -5 -8 -4 -1\n";
  EXPECT_DOUBLE_EQ(volume(read_mesh(file("a.obj", cube_corners + negative))), 1);
  EXPECT_DOUBLE_EQ(volume(read_mesh(file("b.obj", std::string(cube_faces) + cube_corners))), 1);
}

TEST_F(MeshFile, ObjTextureAndNormalNumbersAreLeftAlone) {
  const std::string text =
      "mtllib x.mtl\nvt 0 0\nvn 0 0 1\nv 0 0 0 1.0\nv +1 0 0\r\nv 0 1e0 0\nusemtl red\ns off\nf 1/1/1 2//1 3/1\n";
  const Mesh mesh = read_mesh(file("t.obj", text));
  ASSERT_EQ(mesh.triangles.size(), 1u);
  EXPECT_DOUBLE_EQ(area(mesh), 0.5);
}

TEST_F(MeshFile, ObjObjectsAndGroupsNameParts) {
  const std::string text =
      std::string(cube_corners) + "o empty\no left wheel\nf 1 2 3\ng top\nf 1 2 4\nf 2 3 4\no left wheel\nf 5 6 7\n";
  const Mesh mesh = read_mesh(file("parts.obj", text));
  EXPECT_EQ(mesh.parts, (std::vector<std::string>{"left wheel", "top"}));
  EXPECT_EQ(mesh.part, (std::vector<std::int32_t>{0, 1, 1, 0}));
  EXPECT_EQ(select_part(mesh, "top").triangles.size(), 2u);
  expect_error([&] { select_part(mesh, "roof"); }, ErrorCode::not_found,
               {{"part", "roof"}, {"choices", "'left wheel', 'top'"}});
}

TEST_F(MeshFile, ObjConcavePolygonsAreCutWithinTheirOutline) {
  // An L and an arrow head, both of area 3. Fan triangulation from the first corner would leave the outline.
  const std::string l_shape = "v 2 1 0\nv 1 1 0\nv 1 2 0\nv 0 2 0\nv 0 0 0\nv 2 0 0\nf 1 2 3 4 5 6\n";
  const std::string arrow = "v 0 0 0\nv 1 1 0\nv 0 4 0\nv -1 1 0\nf 1 2 3 4\n";
  for (const std::string& text : {l_shape, arrow}) {
    const Mesh mesh = read_mesh(file("concave.obj", text));
    EXPECT_NEAR(area(mesh), text == arrow ? 4 : 3, 1e-14);
  }
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

// UTF-16 text: each character in two bytes, with the less significant one first or last.
std::string utf16(const std::string& text, bool little, bool mark) {
  std::string wide = !mark ? "" : little ? "\xff\xfe" : "\xfe\xff";
  for (const char c : text) wide += little ? std::string{c, '\0'} : std::string{'\0', c};
  return wide;
}

// The unit cube in ASCII STL, without the lines "solid" and "endsolid".
std::string stl_facets() {
  const Mesh cube = make_box({0, 0, 0}, {1, 1, 1});
  const auto place = [&](std::int32_t v) {
    std::string words;
    for (const double x : cube.vertices[v]) words += x == 0 ? "0.0e+00 " : "1.0e+00 ";
    return words;
  };
  std::string text;
  for (const auto& [a, b, c] : cube.triangles) text += ascii_facet(place(a), place(b), place(c));
  return text;
}

struct Dialect {
  std::string what, text, part;
};

void expect_cube(const Mesh& mesh, const Dialect& dialect) {
  EXPECT_EQ(bounds(mesh).lo, (Point{0, 0, 0})) << dialect.what;
  EXPECT_EQ(bounds(mesh).hi, (Point{1, 1, 1})) << dialect.what;
  EXPECT_EQ(mesh.triangles.size(), 12u) << dialect.what;
  EXPECT_DOUBLE_EQ(volume(mesh), 1) << dialect.what;
  EXPECT_TRUE(find_flaws(mesh).watertight()) << dialect.what;
  EXPECT_EQ(mesh.parts, std::vector<std::string>{dialect.part}) << dialect.what;
}

TEST_F(MeshFile, ObjIsReadAsProgramsAndSystemsWriteIt) {
  const std::string v = cube_corners, f = cube_faces, text = "o box\n" + v + f, bom = "\xef\xbb\xbf";
  const std::vector<Dialect> rows{
      {"as it should be", text, "box"},
      {"byte-order mark", bom + v + f, "obj"},
      {"byte-order mark and a vertex that nothing uses", bom + v + f + "v 9 9 9\n", "obj"},
      {"byte-order mark amid joined files", bom + v + bom + f, "obj"},
      {"comment that ends in a backslash", "# to C:\\out\\\n" + v + f, "obj"},
      {"the same and a vertex that nothing uses", "# to C:\\out\\\n" + v + f + "v 9 9 9\n", "obj"},
      {"comment behind a face that ends in a backslash", v + replaced(f, "8\n", "8 # C:\\out\\\n"), "obj"},
      {"comment amid lines, indented", v + " \t# f 1 2 3\n" + f, "obj"},
      {"group that ends in a backslash", "g D:\\cad\\\n" + v + f, "D:\\cad\\"},
      {"material that ends in a backslash", v + "usemtl lib\\red\\\n" + f, "obj"},
      {"normal that ends in a backslash", "vn 0 0 1 \\\n" + v + f, "obj"},
      {"normal over two lines", "vn 0 0 \\\n1\n" + v + f, "obj"},
      {"capital letters", upper(v) + "G box\n" + upper(f), "box"},
      {"blank behind the backslash", v + replaced(f, "4 3 2\n", "4 \\ \n 3 2\n"), "obj"},
      {"no blank before the backslash", v + replaced(f, "4 3 2\n", "4\\\n3\\\n\t2\n"), "obj"},
      {"vertex over three lines", replaced(v, " 1 1 1\n", " 1 \\\n +1 \\\n 1.\n") + f, "obj"},
      {"backslash and CR LF", replaced(v + replaced(f, "4 3", "4 \\\n 3"), "\n", "\r\n"), "obj"},
      {"backslash and CR", replaced(v + replaced(f, "4 3", "4 \\\n 3"), "\n", "\r"), "obj"},
      {"CR LF", replaced(text, "\n", "\r\n"), "box"},
      {"CR CR LF", replaced(v + replaced(f, "4 3", "4 \\\n 3"), "\n", "\r\r\n"), "obj"},
      {"CR", replaced(text, "\n", "\r"), "box"},
      {"LF, CR LF and CR", replaced(v, "\n", "\r") + replaced(f, "5 8\n", "5 8\r\n"), "obj"},
      {"no end of the last line", text.substr(0, text.size() - 1), "box"},
      {"tabs, form feeds and blanks round words", replaced(replaced(text, " ", "\t \f"), "\n", " \v\t\n \t"), "box"},
      {"empty lines", replaced(text, "\n", "\n\n \n"), "box"},
      {"DOS end of file", text + "\x1a", "box"},
      {"hash in the name", replaced(text, "o box", "o Body#2 # the second"), "Body#2"},
      {"name in Latin-1", replaced(text, "box", "K\xf6rper"), "K\xc3\xb6rper"},
      {"name in UTF-8", replaced(text, "box", "K\xc3\xb6rper 1"), "K\xc3\xb6rper 1"},
      {"texture and normal", v + replaced(replaced(replaced(f, " ", "/1/2 "), "f/1/2", "f"), "\n", "//3\n"), "obj"},
      {"weights and colours", replaced(v, "\n", " 1.0 0.5 0.5 1\n") + f, "obj"},
      {"numbers from the end and a face named of old", v + replaced(f, "f 5 6 7 8", "fo -4 -3/1 -2//1 -1/1/1"), "obj"},
      {"one object in two places", "o box\n" + v + f.substr(0, 20) + "o box\n" + f.substr(20), "box"},
      {"statements that shape nothing", "mtllib a b.mtl\ncstype\n" + v + "s 1\nl 1 2\np 1\n" + f, "obj"},
  };
  for (const Dialect& row : rows) expect_cube(read_mesh(file("obj.obj", row.text)), row);
}

TEST_F(MeshFile, ObjObjectsThatDifferBehindAHashAreTwo) {
  const std::string second = replaced(replaced(replaced(cube_corners, "v 1", "v 4"), "v 0", "v 3"), "\n", " # far\n");
  std::string behind;
  for (const char c : std::string(cube_faces)) {
    const bool corner = c >= '1' && c <= '8';
    if (corner) behind += '-';
    behind += corner ? static_cast<char>('1' + '8' - c) : c;
  }
  const Mesh mesh = read_mesh(
      file("two.obj", "o Body#1\n" + std::string(cube_corners) + cube_faces + "o Body#2\n" + second + behind));
  EXPECT_EQ(mesh.parts, (std::vector<std::string>{"Body#1", "Body#2"}));
  EXPECT_EQ(bounds(select_part(mesh, "Body#2")).lo, (Point{3, 0, 0}));
  EXPECT_DOUBLE_EQ(volume(select_part(mesh, "Body#2")), 1);
}

TEST_F(MeshFile, StlIsReadAsProgramsAndSystemsWriteIt) {
  const std::string f = stl_facets(), text = "solid box\n" + f + "endsolid box\n";
  const std::string one_line = replaced(replaced(f, "\n", " "), "endfacet ", "endfacet\n");
  using namespace std::string_literals;
  const std::vector<Dialect> rows{
      {"as it should be", text, "box"},
      {"capital letters", upper(text), "BOX"},
      {"capital first letters", "Solid Unity Mesh\n" + replaced(f, "facet normal", "Facet Normal") + "EndSolid\n",
       "Unity Mesh"},
      {"capital letters at the end alone", replaced(text, "endsolid", "ENDSOLID"), "box"},
      {"end loop", replaced(text, "endloop", "end loop"), "box"},
      {"end facet", replaced(replaced(text, "endloop", "End Loop"), "endfacet", "END  FACET"), "box"},
      {"end solid", replaced(text, "endsolid", "end solid"), "box"},
      {"no end", "solid box\n" + f, "box"},
      {"byte-order mark", "\xef\xbb\xbf" + text, "box"},
      {"name filled up with zero bytes", replaced(text, "box\n", "box\0\0\0\0\n"s), "box"},
      {"zero bytes for a name", replaced(text, "solid box\n", "solid\0\0\n"s), "stl"},
      {"name that ends in a backslash", replaced(text, "box", "C:\\parts\\"), "C:\\parts\\"},
      {"name of keywords", replaced(text, "box", "facet endsolid vertex"), "facet endsolid vertex"},
      {"name with a hash", replaced(text, "box", "Body #2"), "Body #2"},
      {"name in Latin-1", replaced(text, "box", "K\xf6rper"), "K\xc3\xb6rper"},
      {"no name", replaced(text, " box", ""), "stl"},
      {"comment above", "# made by a tool\n" + text, "box"},
      {"comment below the name", replaced(text, "solid box\n  facet", "solid box\n  ; a tool's\n  facet"), "box"},
      {"comments amid facets", replaced(text, "outer loop", "outer loop\n # a\n // b"), "box"},
      {"words of the program above and below", "Exported by X\n" + text + "on Monday\n", "box"},
      {"CR LF", replaced(text, "\n", "\r\n"), "box"},
      {"CR", replaced(text, "\n", "\r"), "box"},
      {"CR CR LF", replaced(text, "\n", "\r\r\n"), "box"},
      {"no end of the last line", text.substr(0, text.size() - 1), "box"},
      {"tabs, form feeds and blanks", replaced(replaced(text, " ", "\t"), "\n", " \f\t\n \n"), "box"},
      {"DOS end of file", text + "\x1a", "box"},
      {"triangles in one line each", "solid box\n" + one_line + "endsolid\n", "box"},
      {"normals that are none", replaced(text, "normal 0 0 0", "normal -nan(ind) nan 1.#QNAN"), "box"},
  };
  for (const Dialect& row : rows) expect_cube(read_mesh(file("stl.stl", row.text)), row);
}

TEST_F(MeshFile, StlIsToldApartByItsContentNotByTheWordSolid) {
  const std::vector<float> coordinates{0, 0, 0, 1, 0, 0, 0, 1, 0};
  EXPECT_EQ(read_mesh(file("b.stl", binary_stl("solid looks like text", 1, coordinates))).triangles.size(), 1u);
  const std::string padded = binary_stl("solid\nendsolid looks, too", 1, coordinates) + std::string(432, '\0');
  EXPECT_EQ(read_mesh(file("c.stl", padded)).triangles.size(), 1u);
  const std::string text = "\n solid wing\n" + ascii_facet("0 0 0", "1 0 0", "0 1 0") + "endsolid wing\n";
  const Mesh mesh = read_mesh(file("a.STL", text));
  EXPECT_EQ(mesh.triangles.size(), 1u);
  EXPECT_EQ(mesh.parts, std::vector<std::string>{"wing"});
}

TEST_F(MeshFile, StlSolidsNamePartsAndShareVertices) {
  const std::string text = "solid a\n" + ascii_facet("0 0 0", "1 0 0", "0 1 0") + "endsolid a\nsolid b\n" +
                           ascii_facet("-0 0 0", "0 1 0", "-1 0 0") + "endsolid b\n";
  const Mesh mesh = read_mesh(file("two.stl", text));
  EXPECT_EQ(mesh.parts, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(mesh.vertices.size(), 4u);
}

TEST_F(MeshFile, WrittenMeshesReadTheSame) {
  const Mesh torus = make_torus({0.1, 0.2, 0.3}, 1, 0.25, 24, 12);
  for (const std::string name : {"torus.obj", "torus.stl"}) {
    write_mesh(path(name), torus);
    const Mesh back = read_mesh(path(name));
    ASSERT_EQ(back.triangles.size(), torus.triangles.size()) << name;
    for (std::size_t t = 0; t < torus.triangles.size(); ++t)
      for (int corner = 0; corner < 3; ++corner) {
        const Point& before = torus.vertices[torus.triangles[t][corner]];
        const Point& after = back.vertices[back.triangles[t][corner]];
        for (int a = 0; a < 3; ++a) EXPECT_NEAR(after[a], before[a], 1e-7) << name;
      }
    EXPECT_TRUE(find_flaws(back).watertight()) << name;
    EXPECT_NEAR(volume(back), volume(torus), 1e-6) << name;
  }
  EXPECT_EQ(read_mesh(path("torus.obj")).vertices, torus.vertices);
}

TEST_F(MeshFile, BadFilesAreEachOneClearError) {
  const std::vector<float> one{0, 0, 0, 1, 0, 0, 0, 1, 0};
  std::vector<float> broken = one;
  broken[4] = std::nanf("");
  struct Row {
    std::string name, content;
    Facts facts;
  };
  const std::vector<Row> rows{
      {"short.stl", binary_stl("", 3, one), {{"announced", 3}, {"held", 1}}},
      {"tiny.stl", "abc", {{"bytes", 3}, {"needed", 84}}},
      {"more.stl", binary_stl("", 1, one) + binary_stl("", 1, one), {{"announced", 1}, {"held", 3}}},
      {"uncounted.stl", binary_stl("", 0, one), {{"announced", 0}, {"held", 1}}},
      {"wide.stl", utf16("solid a\n" + ascii_facet("0 0 0", "1 0 0", "0 1 0"), true, true), {{"encoding", "UTF-16"}}},
      {"wide_big.stl",
       utf16("solid a\n" + ascii_facet("0 0 0", "1 0 0", "0 1 0"), false, true),
       {{"encoding", "UTF-16"}}},
      {"wide_bare.stl",
       utf16("solid a\n" + ascii_facet("0 0 0", "1 0 0", "0 1 0"), true, false),
       {{"encoding", "UTF-16"}}},
      {"obj.stl", std::string(cube_corners) + cube_faces, {{"expected", "solid"}}},
      {"no_head.stl", ascii_facet("0 0 0", "1 0 0", "0 1 0"), {{"expected", "solid"}}},
      {"bend.stl",
       "solid\n" + ascii_facet("0 0 0", "1 0 0", "0 1 0") + "bend\n",
       {{"line", 9}, {"word", "bend"}, {"expected", "facet' or 'endsolid"}}},
      {"square.stl",
       "solid\nfacet\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 1 1 0\nvertex 0 1 0\n",
       {{"line", 7}, {"word", "vertex"}, {"expected", "endloop"}}},
      {"comma.stl",
       "solid\n" + ascii_facet("0 0 0", "1,5 0 0", "0 1 0"),
       {{"line", 5}, {"word", "1,5"}, {"expected", "coordinate"}}},
      {"zeros.stl",
       "solid\n" + ascii_facet("0 0 0", std::string("1 0 0\0 1", 8), "0 1 0"),
       {{"line", 5}, {"word", "0?"}}},
      {"none.stl", binary_stl("", 0, {}), {{"triangles", 0}}},
      {"empty.stl", "solid nothing\nendsolid nothing\n", {{"triangles", 0}}},
      {"nan.stl", binary_stl("", 1, broken), {{"triangle", 1}, {"position", "(1, nan, 0)"}}},
      {"nan_text.stl",
       "solid\n" + ascii_facet("0 0 0", "nan 0 0", "0 1 0"),
       {{"line", 5}, {"position", "(nan, 0, 0)"}}},
      {"words.stl",
       "solid\n" + ascii_facet("0 0 0", "1 zero 0", "0 1 0"),
       {{"line", 5}, {"word", "zero"}, {"expected", "coordinate"}}},
      {"cut.stl", "solid\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\n", {{"missing", "vertex"}}},
      {"odd.stl",
       "solid\nfacet normal 0 0 1\nvertex 0 0 0\n",
       {{"line", 3}, {"word", "vertex"}, {"expected", "outer"}}},
      {"none.obj", "v 0 0 0\nv 1 0 0\n", {{"triangles", 0}}},
      {"nan.obj", "v 0 0 0\nv 1 nan 0\nv 0 1 0\nf 1 2 3\n", {{"line", 2}, {"vertex", 2}, {"position", "(1, nan, 0)"}}},
      {"huge.obj", "v 0 0 0\nv 1 1e999 0\nv 0 1 0\nf 1 2 3\n", {{"line", 2}, {"position", "(1, inf, 0)"}}},
      {"missing.obj", "v 0 0 0\nv 1 0 0\nf 1 2 9\n", {{"line", 3}, {"vertex", 9}, {"vertices", 2}}},
      {"back.obj", "v 0 0 0\nf -1 -2 -3\n", {{"line", 2}, {"vertex", -2}, {"vertices", 1}}},
      {"zero.obj", "v 0 0 0\nf 0 1 1\n", {{"line", 2}, {"word", "0"}, {"expected", "corner"}}},
      {"two.obj", "v 0 0 0\nv 1 0 0\nf 1 2\n", {{"line", 3}, {"corners", 2}}},
      {"flat.obj", "v 0 0\n", {{"line", 1}, {"word", ""}, {"expected", "coordinate"}}},
      {"wide.obj", utf16(cube_corners, true, true), {{"encoding", "UTF-16"}}},
      {"wide_bare.obj", utf16(cube_corners, false, false), {{"encoding", "UTF-16"}}},
      {"wider.obj", std::string("\xff\xfe\0\0v\0\0\0", 8), {{"encoding", "UTF-32"}}},
      {"zeros.obj", std::string("v 0 0 0\nv 1 \0\0\0", 15), {{"byte", 12}}},
      {"broken.obj",
       "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1 2 3\n4\n",
       {{"line", 6}, {"word", "4"}, {"expected", "statement"}}},
      {"unseen.obj", "\xc2\xa0v 0 0 0\n", {{"line", 1}, {"word", "\xc2\xa0v"}, {"expected", "statement"}}},
      {"glued.obj", "v 0 0 0 v 1 0 0\nv 0 1 0\n", {{"line", 1}, {"word", "v"}, {"expected", "number"}}},
      {"hanging.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3 \\\n", {{"line", 4}, {"word", "\\"}, {"expected", "corner"}}},
      {"hanging_vertex.obj", "v 0 0 0 \\\nv 1 0 0\n", {{"line", 1}, {"word", "\\"}}},
      {"counted.obj", "v 0 0 0\rv 1 0 0\rv 0 1 0 \\\r 1\rf 1 2 x\r", {{"line", 5}, {"word", "x"}}},
      {"spline.obj", "v 0 0 0\nsurf 0 1 0 1 1 2 3 4\n", {{"line", 2}, {"word", "surf"}, {"expected", "polygon"}}},
      {"long.obj", "f " + std::string(500, 'x') + "\n", {{"line", 1}, {"word", std::string(40, 'x') + "..."}}},
      {"latin.obj", "f 1 2 \xe4\x07\n", {{"line", 1}, {"word", "\xc3\xa4?"}}},
      {"mesh.ply", "ply\n", {{"ending", ".ply"}}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    expect_bad(row.name, row.content, row.facts);
  }
  expect_error([&] { read_mesh(path("nowhere.obj")); }, ErrorCode::not_found, {{"file", path("nowhere.obj")}});
}

}  // namespace
}  // namespace slipstream
