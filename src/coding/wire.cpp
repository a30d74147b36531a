#include "coding/wire.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include <slipstream/error.hpp>
#include <slipstream/field.hpp>
#include <slipstream/own_coding.hpp>

namespace slipstream {
namespace {

constexpr int floats_in_block = 16;
constexpr CellBlock runs[] = {{{16, 1, 1}}, {{1, 16, 1}}, {{1, 1, 16}}};
constexpr CellBlock squares[] = {{{4, 4, 1}}, {{4, 1, 4}}, {{1, 4, 4}}};
constexpr CellBlock pieces[] = {{{4, 1, 1}}, {{1, 4, 1}}, {{1, 1, 4}}};
constexpr CellBlock cube = {{4, 4, 4}};

/// Largest allowed ratio of the cells in coding blocks to the cells of the region that they cover. Above it, blocks of
/// fewer dimensions code the values. For a region three cells thick, cubes would cover a third more.
constexpr double most_with_padding = 1.25;

double cells_of_blocks(const Extent& box, const CellBlock& block) {
  return static_cast<double>(volume(blocks_of(box, block))) * block.cells();
}

const CellBlock& fewest_cells(std::span<const CellBlock> blocks, const Extent& box) {
  return *std::min_element(blocks.begin(), blocks.end(), [&](const CellBlock& a, const CellBlock& b) {
    return cells_of_blocks(box, a) < cells_of_blocks(box, b);
  });
}

int bits_of(DType type) { return part_type(type) == DType::f32 ? 32 : 64; }

/// Bound of zfp's error relative to the largest magnitude of a block, for a code of `bits` bits (derived in
/// docs/coding.md). A plane fits where its value and test bits fit. Omitted planes add at most two thirds of a unit to
/// every coefficient. The inverse transform along an axis takes at most 15/4 of the largest coefficient. Both
/// transforms and the conversions round by less than eight units of the last plane an axis.
double zfp_error(DType type, int dimensions, int bits) {
  const int width = bits_of(type), cells = 1 << 2 * dimensions, head = width == 32 ? 9 : 12;
  const int planes = std::clamp((bits - head - cells) / (cells + 1), 0, width);
  const double gain = std::pow(15. / 4, dimensions);
  const double left_out = planes < width ? 2. / 3 * std::ldexp(1., 3 - planes) : 0;
  const double rounding = std::ldexp(1., width == 32 ? -24 : -53);
  return gain * (left_out + 8 * dimensions * std::ldexp(1., 3 - width)) + rounding;
}

/// Throws Error, with the names of coding and field, for a coding that does not suit a field.
struct Refusing {
  const Coding& coding;
  DType type;
  const std::string& field;

  void unless(bool good, ErrorCode code, const std::string& why, const char* option) const {
    if (good) return;
    throw Error(code,
                "the coding " + to_string(coding) + " of " + field + ", which holds " + to_string(type) + ": " + why,
                {{"of", field}, {"type", to_string(type)}, {"coding", to_string(coding)}, {"option", option}});
  }
};

/// Name of the first option given for a coding of messages (rate, block, max error or format); null: none is given.
const char* option_of(const Coding& c) {
  return c.rate ? "rate" : c.block ? "block" : c.max_error ? "max_error" : c.type ? "format" : nullptr;
}

/// The Wire (resolved coding) of the codings raw and cast.
Wire wire_by_value(const Coding& coding, DType type, const Refusing& refuse) {
  const bool raw = coding.kind == Coding::Kind::raw;
  refuse.unless(!coding.rate && !coding.block && !coding.max_error && !(raw && coding.type), ErrorCode::unsupported,
                raw ? "raw sends values as they are, and takes no options: leave them out, or choose another coding"
                    : "cast writes each value by itself, and takes neither rate nor block nor max error: leave them "
                      "out, or choose blockfloat or zfp",
                option_of(coding));
  if (raw) return Wire::same;
  const bool wide = type == DType::f64 || type == DType::c128;
  refuse.unless(wide || type == DType::f32, ErrorCode::unsupported,
                "cast rounds f64 and c128 to f32, and f32 to f16 or bf16: choose raw", "type");
  const Narrow to = coding.type.value_or(wide ? Narrow::f32 : Narrow::f16);
  refuse.unless(wide == (to == Narrow::f32), ErrorCode::unsupported,
                wide ? "f64 and c128 are cast to f32" : "f32 is cast to f16 or bf16, which are narrower", "format");
  return to == Narrow::f32 ? Wire::f32 : to == Narrow::f16 ? Wire::f16 : Wire::bf16;
}

Wire wire_of_own(const Coding& coding, DType type, const Refusing& refuse) {
  refuse.unless(!option_of(coding), ErrorCode::unsupported,
                "a coding of one's own takes neither rate nor block nor max error nor format: leave them out",
                option_of(coding));
  const int number = own_coding_number(coding.name);
  refuse.unless(number > 0, ErrorCode::not_found,
                "this process knows no such coding: call add_coding() before exchanges are made", "coding");
  const OwnCoding& own = own_coding(number);
  refuse.unless(own.type == type, ErrorCode::unsupported, "it writes " + to_string(own.type), "type");
  Wire wire = Wire::own;
  wire.number = static_cast<std::uint8_t>(number);
  std::fill(wire.rates, wire.rates + 3, static_cast<std::uint8_t>(8 * own.code_bytes));
  return wire;
}

Wire wire_of_blockfloat(const Coding& coding, DType type, const Refusing& refuse) {
  const int width = bits_of(type), most = width == 32 ? 28 : 48;
  const double rate = coding.rate.value_or(width / 2);
  refuse.unless(rate >= 8 && rate <= most && std::fmod(rate, 4) == 0, ErrorCode::invalid_argument,
                "the rate of blockfloat is a multiple of 4 from 8 to " + std::to_string(most), "rate");
  refuse.unless(coding.block.value_or(floats_in_block) == floats_in_block, ErrorCode::invalid_argument,
                "a block of blockfloat has 16 values", "block");
  Wire wire = Wire::blockfloat;
  std::fill(wire.rates, wire.rates + 3, static_cast<std::uint8_t>(rate));
  // Rounding to multiples of 2^quantum has an error of at most half a multiple.
  if (coding.max_error) wire.quantum = static_cast<std::int16_t>(std::ilogb(*coding.max_error) + 1);
  return wire;
}

Wire wire_of_zfp(const Coding& coding, DType type, const Refusing& refuse) {
  const int width = bits_of(type);
  if (coding.rate)
    refuse.unless(*coding.rate >= 1 && *coding.rate <= width && *coding.rate == std::floor(*coding.rate),
                  ErrorCode::invalid_argument,
                  "the rate of zfp is a whole number of bits from 1 to " + std::to_string(width), "rate");
  const int block = coding.block.value_or(0);
  refuse.unless(block == 0 || block == 4 || block == 16 || block == 64, ErrorCode::invalid_argument,
                "a block of zfp has 4, 16 or 64 values", "block");
  Wire wire = Wire::zfp;
  wire.asked = static_cast<std::uint8_t>(block);
  for (int dimensions = 1; dimensions <= 3; ++dimensions) {
    const CellBlock& of = dimensions == 3 ? cube : dimensions == 2 ? squares[0] : pieces[0];
    const int cells = of.cells();
    std::uint8_t& rate = wire.rates[dimensions - 1];
    rate = static_cast<std::uint8_t>(coding.rate.value_or(coding.max_error ? 1 : width / 2));
    const auto meets = [&] { return wire.bound(type, of, 1) <= *coding.max_error; };
    if (coding.max_error && (block == 0 || block == cells)) {
      while (!coding.rate && rate < width && !meets()) ++rate;
      refuse.unless(meets(), ErrorCode::unsupported,
                    "no rate keeps so small an error in blocks of " + std::to_string(cells) +
                        (coding.rate ? " values that is not higher" : " values") + ": choose raw or a larger error",
                    "max_error");
    }
  }
  return wire;
}

}  // namespace

Extent blocks_of(const Extent& box, const CellBlock& block) {
  Extent blocks{};
  for (std::size_t a = 0; a < 3; ++a) blocks[a] = (box[a] + block.extent[a] - 1) / block.extent[a];
  return blocks;
}

CellBlock Wire::block_of(const Extent& box, bool listed, bool turned) const {
  if (by_value()) return {};
  if (kind == blockfloat) {
    if (listed) return runs[0];
    // At a tie in coded cells, square blocks win over rows for transposes: both ends then access four adjacent values.
    const CellBlock &run = fewest_cells(runs, box), &square = fewest_cells(squares, box);
    const double of_run = cells_of_blocks(box, run), of_square = cells_of_blocks(box, square);
    return of_square < of_run || (turned && of_square == of_run) ? square : run;
  }
  if (listed || asked == 4) return listed ? pieces[0] : fewest_cells(pieces, box);
  if (asked == 64) return cube;
  const CellBlock& square = fewest_cells(squares, box);
  if (asked == 16) return square;
  const double most = most_with_padding * static_cast<double>(volume(box));
  if (cells_of_blocks(box, cube) <= most) return cube;
  return cells_of_blocks(box, square) <= most ? square : fewest_cells(pieces, box);
}

std::size_t Wire::bytes_of(DType type, const Extent& box, const CellBlock& block) const {
  if (by_value()) return static_cast<std::size_t>(volume(box)) * size_of(*this, type);
  return static_cast<std::size_t>(volume(blocks_of(box, block)) * code_bytes(*this, block)) *
         (is_complex(type) ? 2 : 1);
}

double Wire::bound(DType type, const CellBlock& block, double largest) const {
  if (kind == same) return 0;
  if (kind == own) return own_coding(number).bound(largest);
  if (by_value()) return std::ldexp(largest, kind == f32 ? -24 : kind == f16 ? -11 : -8);
  if (quantum != floating) return std::ldexp(0.5, quantum);
  // Blocks of subnormal numbers use the exponent of the smallest normal number.
  largest = std::max(largest, part_type(type) == DType::f32 ? 0x1p-126 : 0x1p-1022);
  if (kind == zfp) return largest * zfp_error(type, block.dimensions(), 8 * code_bytes(*this, block));
  // Blockfloat stores each value of a block in `rate` bits. Its error is at most 2^(3 - rate) times the largest power
  // of two up to `largest`, the block's largest magnitude. Mostly it is half as large.
  return std::ldexp(1., std::ilogb(largest) + 3 - rate(block));
}

double Wire::worst(DType type, double largest) const {
  if (kind != zfp) return bound(type, runs[0], largest);
  return std::max({bound(type, pieces[0], largest), bound(type, squares[0], largest), bound(type, cube, largest)});
}

Wire wire_of(const Coding& coding, DType type, const std::string& field) {
  const Refusing refuse{coding, type, field};
  refuse.unless(!coding.rate || (*coding.rate > 0 && *coding.rate <= 64), ErrorCode::invalid_argument,
                "a rate is above 0 and at most 64 bits a value", "rate");
  refuse.unless(!coding.block || (*coding.block >= 1 && *coding.block <= 4096), ErrorCode::invalid_argument,
                "a block has 1 to 4096 values", "block");
  refuse.unless(!coding.max_error || (*coding.max_error >= 0x1p-1000 && *coding.max_error <= 0x1p1000),
                ErrorCode::invalid_argument, "an error is above 0 and finite", "max_error");
  refuse.unless(coding.kind != Coding::Kind::automatic, ErrorCode::unsupported,
                "auto is chosen by measurement, where a run of a case or an exchange of arrays begins: name a coding",
                "coding");
  if (coding.kind == Coding::Kind::raw || coding.kind == Coding::Kind::cast) return wire_by_value(coding, type, refuse);
  if (coding.kind == Coding::Kind::own) return wire_of_own(coding, type, refuse);
  const DType part = part_type(type);
  refuse.unless(part == DType::f32 || part == DType::f64, ErrorCode::unsupported,
                "blockfloat and zfp write f32, f64, c64 and c128: choose raw", "type");
  refuse.unless(!coding.type, ErrorCode::unsupported, "a format goes with cast alone: leave it out", "format");
  return coding.kind == Coding::Kind::zfp ? wire_of_zfp(coding, type, refuse)
                                          : wire_of_blockfloat(coding, type, refuse);
}

std::size_t size_of(const Wire& wire, DType type) {
  require(wire.by_value(), ErrorCode::internal, "a value that is coded with others has no size of its own");
  if (wire.kind == Wire::same) return size_of(type);
  if (wire.kind == Wire::own) return wire.rates[0] / 8u;
  const std::size_t each = wire.kind == Wire::f32 ? 4 : 2;
  return is_complex(type) ? 2 * each : each;
}

}  // namespace slipstream
