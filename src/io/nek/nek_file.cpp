#include <slipstream/nek_file.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <type_traits>

#include "io/raw_file.hpp"
#include "machine/agree.hpp"

namespace slipstream {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t header_bytes = 132, front_bytes = header_bytes + 4;
constexpr float endian_tag = 6.54321f;

int components_of(const std::string& field) { return field == "X" || field == "U" ? 3 : 1; }

std::string scalar(std::size_t number) { return (number < 10 ? "S0" : "S") + std::to_string(number); }

/// A field that is written to a file.
struct Part {
  std::string name;
  const Field* field;  ///< values of the field; null for the coordinates
};

std::vector<Part> parts_of(const NekFields& fields) {
  std::vector<Part> parts;
  if (fields.places) parts.push_back({"X", nullptr});
  if (fields.velocity) parts.push_back({"U", fields.velocity});
  if (fields.pressure) parts.push_back({"P", fields.pressure});
  if (fields.temperature) parts.push_back({"T", fields.temperature});
  for (std::size_t n = 0; n < fields.scalars.size(); ++n) {
    parts.push_back({scalar(n + 1), fields.scalars[n]});
  }
  return parts;
}

std::int64_t cube_of(int order) { return (std::int64_t{order} + 1) * (order + 1) * (order + 1); }

void check(const std::string& path, int word_bytes, const NekFields& fields, const std::vector<Part>& parts) {
  require(word_bytes == 4 || word_bytes == 8, "words of a Nek file have 4 or 8 bytes",
          {{"option", "word_bytes"}, {"given", word_bytes}});
  // The header has two digits for the points per edge and for scalars, and 32 bits for the number of elements.
  require(fields.order >= 1 && fields.order <= 98, "elements of a Nek file have orders from 1 to 98",
          {{"option", "order"}, {"given", fields.order}});
  require(fields.scalars.size() <= 99, ErrorCode::unsupported, "a Nek file has 99 scalars at most",
          {{"option", "scalars"}, {"given", fields.scalars.size()}, {"limit", 99}});
  require(fields.elements >= 1 && fields.elements <= std::numeric_limits<std::int32_t>::max(), ErrorCode::unsupported,
          "a Nek file has 2147483647 elements at most", {{"option", "elements"}, {"given", fields.elements}});
  require(!parts.empty(), "a Nek file has one field at least", {{"file", path}, {"option", "fields"}});
  const Extent wanted{cube_of(fields.order), fields.elements, 1};
  for (const Part& part : parts) {
    if (!part.field) continue;
    const FieldOptions& o = part.field->options();
    require(part.field->grid().extent() == wanted && o.components == components_of(part.name) &&
                (o.type == DType::f32 || o.type == DType::f64),
            ErrorCode::mismatch,
            "what '" + path + "' shall hold as " + part.name +
                " is not of f32 or f64 on the nodes of the elements, of " + std::to_string(components_of(part.name)) +
                " components",
            {{"file", path}, {"field", part.name}});
  }
}

/// Byte offsets of the fields in a Nek file.
struct NekLayout {
  std::int64_t elements, cube;
  int word;
  std::vector<std::int64_t> values, bounds;  ///< byte offsets of each field's values, and of its bounds
  std::int64_t data_end, end;
  NekLayout(const std::vector<std::string>& fields, std::int64_t all, int order, int word_bytes)
      : elements(all), cube(cube_of(order)), word(word_bytes) {
    std::int64_t at = front_bytes + 4 * elements;
    for (const std::string& field : fields) {
      values.push_back(at);
      at += elements * cube * word * components_of(field);
    }
    data_end = at;
    for (const std::string& field : fields) {
      bounds.push_back(at);
      at += elements * 8 * components_of(field);
    }
    end = at;
  }
};

std::string header(double time, std::int64_t step, int word, const NekFields& fields, const std::vector<Part>& parts) {
  std::string code;
  for (const Part& part : parts)
    if (part.name[0] != 'S') code += part.name;
  // The field code in the file's header ends with the number of scalars.
  if (!fields.scalars.empty()) code += parts.back().name;
  char text[header_bytes + 1];
  const int n = fields.order + 1;
  const int length =
      std::snprintf(text, sizeof text, "#std %1d %2d %2d %2d %10lld %10lld %20.13E %9lld %6d %6d %-10s", word, n, n, n,
                    static_cast<long long>(fields.elements), static_cast<long long>(fields.elements), time,
                    static_cast<long long>(step % 1000000000), 0, 1, code.c_str());
  std::string all(text, static_cast<std::size_t>(length));
  all.resize(header_bytes, ' ');
  return all;
}

/// Reads elements [first, last) of a field as [element][component][node].
std::vector<double> values_of(const NekFields& fields, const Part& part, std::int64_t first, std::int64_t last) {
  const std::int64_t cube = cube_of(fields.order), components = components_of(part.name);
  const auto count = static_cast<std::size_t>((last - first) * cube * components);
  std::vector<double> interleaved(count), values(count);
  if (!part.field) {
    for (std::int64_t e = first; e < last; ++e) {
      const auto here = fields.places(e);
      require(static_cast<std::int64_t>(here.size()) == cube, ErrorCode::mismatch,
              "an element has " + std::to_string(here.size()) + " places and " + std::to_string(cube) + " nodes",
              {{"given", here.size()}, {"needed", cube}});
      std::memcpy(interleaved.data() + (e - first) * cube * 3, here.data(), here.size() * sizeof here[0]);
    }
  } else {
    const Box box{{0, first, 0}, {cube, last, 1}};
    if (part.field->options().type == DType::f64) {
      part.field->read(box, interleaved.data());
    } else {
      std::vector<float> narrow(count);
      part.field->read(box, narrow.data());
      std::copy(narrow.begin(), narrow.end(), interleaved.begin());
    }
  }
  for (std::int64_t e = 0; e < last - first; ++e)
    for (std::int64_t p = 0; p < cube; ++p)
      for (std::int64_t c = 0; c < components; ++c)
        values[static_cast<std::size_t>((e * components + c) * cube + p)] =
            interleaved[static_cast<std::size_t>((e * cube + p) * components + c)];
  return values;
}

/// Writes elements [first, last) of a field, and their minima and maxima.
void write_elements(RawFile& file, const NekLayout& layout, std::size_t number, const NekFields& fields,
                    const Part& part, std::int64_t first, std::int64_t last) {
  const std::vector<double> values = values_of(fields, part, first, last);
  const std::int64_t components = components_of(part.name);
  std::vector<float> bounds;
  for (std::size_t at = 0; at < values.size(); at += static_cast<std::size_t>(layout.cube)) {
    const auto [least, largest] = std::minmax_element(values.begin() + static_cast<std::ptrdiff_t>(at),
                                                      values.begin() + static_cast<std::ptrdiff_t>(at) + layout.cube);
    bounds.push_back(static_cast<float>(*least));
    bounds.push_back(static_cast<float>(*largest));
  }
  const std::int64_t begin = layout.values[number] + first * layout.cube * components * layout.word;
  if (layout.word == 8) {
    file.write(begin, values.data(), values.size() * sizeof(double));
  } else {
    const std::vector<float> narrow(values.begin(), values.end());
    file.write(begin, narrow.data(), narrow.size() * sizeof(float));
  }
  file.write(layout.bounds[number] + first * components * 8, bounds.data(), bounds.size() * sizeof(float));
}

/// Splits the elements of this rank into ranges of consecutive elements.
std::vector<std::array<std::int64_t, 2>> mine(const Communicator& comm, const NekFields& fields,
                                              const std::vector<Part>& parts) {
  for (const Part& part : parts) {
    if (!part.field) continue;
    std::vector<std::array<std::int64_t, 2>> ranges;
    for (const Block& block : part.field->grid().blocks())
      if (block.rank == comm.rank()) ranges.push_back({block.box.lo[1], block.box.hi[1]});
    return ranges;
  }
  return {{fields.elements * comm.rank() / comm.size(), fields.elements * (comm.rank() + 1) / comm.size()}};
}

template <class T>
T swapped(T value) {
  auto bytes = std::bit_cast<std::array<std::byte, sizeof(T)>>(value);
  std::reverse(bytes.begin(), bytes.end());
  return std::bit_cast<T>(bytes);
}

}  // namespace

void write_nek_file(const Communicator& comm, const std::string& path, double time, std::int64_t step, int word_bytes,
                    const NekFields& fields) {
  const std::vector<Part> parts = parts_of(fields);
  on_all_ranks(comm, [&] { check(path, word_bytes, fields, parts); });
  std::vector<std::string> names;
  for (const Part& part : parts) names.push_back(part.name);
  const NekLayout layout(names, fields.elements, fields.order, word_bytes);
  const std::string hidden = path + ".part";
  try {
    on_rank_zero(comm, [&] {
      const bool made = std::ofstream(hidden, std::ios::binary | std::ios::trunc).good();
      require(made, ErrorCode::io, "'" + path + "' cannot be made: choose a folder that is there and may be written to",
              {{"file", path}});
      fs::resize_file(hidden, static_cast<std::uintmax_t>(layout.end));
      RawFile file = RawFile::to_write(hidden);
      file.write(0, header(time, step, word_bytes, fields, parts).data(), header_bytes);
      file.write(header_bytes, &endian_tag, sizeof endian_tag);
      file.finish();
    });
    on_all_ranks(comm, [&] {
      RawFile file = RawFile::to_write(hidden);
      constexpr std::int64_t bytes_at_once = std::int64_t{1} << 24;
      const std::int64_t most = std::max<std::int64_t>(1, bytes_at_once / (24 * layout.cube));
      for (const auto& [begin, end] : mine(comm, fields, parts))
        for (std::int64_t first = begin; first < end; first += most) {
          const std::int64_t last = std::min(first + most, end);
          std::vector<std::int32_t> numbers;
          for (std::int64_t e = first; e < last; ++e) numbers.push_back(static_cast<std::int32_t>(e + 1));
          file.write(front_bytes + 4 * first, numbers.data(), 4 * numbers.size());
          for (std::size_t n = 0; n < parts.size(); ++n) write_elements(file, layout, n, fields, parts[n], first, last);
        }
      file.finish();
    });
    on_rank_zero(comm, [&] {
      std::error_code failure;
      fs::rename(hidden, path, failure);
      require(!failure, ErrorCode::io, "'" + path + "' cannot be made: " + failure.message(), {{"file", path}});
    });
  } catch (...) {
    std::error_code ignored;
    if (comm.rank() == 0) fs::remove(hidden, ignored);
    throw;
  }
}

NekFile::NekFile(std::string path) : path_(std::move(path)) {
  const auto sound = [&](bool holds, const char* problem, const std::string& what) {
    require(holds, ErrorCode::bad_file, "'" + path_ + "' is no field file of Nek5000 that is whole: " + what,
            {{"file", path_}, {"problem", problem}});
  };
  const auto offered = [&](bool holds, const char* problem, const std::string& what) {
    require(holds, ErrorCode::unsupported, "'" + path_ + "' " + what, {{"file", path_}, {"problem", problem}});
  };
  const RawFile file = RawFile::to_read(path_);
  sound(file.size() >= front_bytes, "length", "it ends within its header");
  std::string text(header_bytes, ' ');
  file.read(0, text.data(), text.size());
  std::istringstream in(text);
  in.imbue(std::locale::classic());
  std::string mark, code;
  std::int64_t nx = 0, ny = 0, nz = 0, here = 0, all = 0, number = 0, files = 0;
  in >> mark >> word_ >> nx >> ny >> nz >> here >> all >> time_ >> step_ >> number >> files >> code;
  sound(!in.fail() && mark == "#std" && (word_ == 4 || word_ == 8) && nx >= 2 && nx <= 99 && ny == nx && nz >= 1 &&
            here >= 1 && all >= here,
        "header", "its header is not '#std', sizes, time, step, files and fields");
  offered(nz != 1, "dimensions", "is of two dimensions, and elements here have three");
  sound(nz == nx, "header", "its elements have other numbers of points along x and z");
  offered(here == all && files <= 1, "files", "is one of several files of a run: let Nek write one (fewer writers)");
  order_ = static_cast<int>(nx) - 1;
  for (std::size_t at = 0; at < code.size(); ++at) {
    const std::string digits = code.substr(at + 1, 2);
    if (std::string_view("XUPT").find(code[at]) != std::string_view::npos) {
      fields_.emplace_back(1, code[at]);
    } else {
      const bool scalars = code[at] == 'S' && digits.size() == 2 &&
                           digits.find_first_not_of("0123456789") == std::string::npos && at + 3 == code.size();
      sound(scalars, "header", "it has fields '" + code + "'");
      for (std::size_t n = 1; n <= std::stoul(digits); ++n) fields_.push_back(scalar(n));
      break;
    }
  }
  float tag = 0;
  file.read(header_bytes, &tag, sizeof tag);
  swapped_ = std::abs(swapped(tag) - endian_tag) < 1e-5f;
  sound(swapped_ || std::abs(tag - endian_tag) < 1e-5f, "endian", "6.54321 is not behind its header");
  // Minima and maxima of elements follow the values; some writers omit them.
  const NekLayout layout(fields_, all, order_, word_);
  sound(
      file.size() >= layout.data_end, "length",
      "it has " + std::to_string(file.size()) + " bytes, and its header speaks of " + std::to_string(layout.data_end));
  std::vector<std::int32_t> numbers(static_cast<std::size_t>(all));
  file.read(front_bytes, numbers.data(), 4 * numbers.size());
  position_.assign(numbers.size(), -1);
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    const std::int64_t element = swapped_ ? swapped(numbers[n]) : numbers[n];
    const bool fresh = element >= 1 && element <= all && position_[static_cast<std::size_t>(element) - 1] < 0;
    sound(fresh, "numbers", "its elements are not numbered from 1 on, each once");
    position_[static_cast<std::size_t>(element) - 1] = static_cast<std::int64_t>(n);
  }
}

std::vector<double> NekFile::read(const std::string& field, std::int64_t element) const {
  const auto found = std::find(fields_.begin(), fields_.end(), field);
  std::string there;
  for (const std::string& name : fields_) there += (there.empty() ? "" : ", ") + name;
  require(found != fields_.end(), ErrorCode::not_found, "'" + path_ + "' has no " + field + ": it has " + there,
          {{"file", path_}, {"field", field}, {"choices", there}});
  require(element >= 0 && element < elements(), ErrorCode::not_found,
          "'" + path_ + "' has no element " + std::to_string(element), {{"file", path_}, {"element", element}});
  const NekLayout layout(fields_, elements(), order_, word_);
  const auto count = static_cast<std::size_t>(layout.cube * components_of(field));
  const std::int64_t at = layout.values[static_cast<std::size_t>(found - fields_.begin())] +
                          position_[static_cast<std::size_t>(element)] * static_cast<std::int64_t>(count) * word_;
  const RawFile file = RawFile::to_read(path_);
  std::vector<double> values(count);
  const auto fetch = [&](auto& words) {
    file.read(at, words.data(), words.size() * sizeof words[0]);
    if (swapped_)
      for (auto& word : words) word = swapped(word);
  };
  if (word_ == 8) {
    fetch(values);
  } else {
    std::vector<float> narrow(count);
    fetch(narrow);
    std::copy(narrow.begin(), narrow.end(), values.begin());
  }
  return values;
}

}  // namespace slipstream
