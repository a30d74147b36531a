#include <slipstream/codec.hpp>

namespace slipstream {
namespace {

class Raw final : public Codec {
 public:
  std::string name() const override { return "raw"; }
  bool lossless() const override { return true; }
  bool identity() const override { return true; }
  std::size_t wire_bytes(std::size_t bytes) const override { return bytes; }
  void encode(Stream& stream, const std::byte* values, std::size_t bytes, std::byte* wire) const override {
    copy(stream, wire, values, bytes);
  }
  void decode(Stream& stream, const std::byte* wire, std::size_t bytes, std::byte* values) const override {
    copy(stream, values, wire, bytes);
  }
};

}  // namespace

std::shared_ptr<const Codec> raw_codec() { return std::make_shared<const Raw>(); }

}  // namespace slipstream
