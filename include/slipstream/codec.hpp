#pragma once
#include <cstddef>
#include <memory>
#include <string>

#include <slipstream/stream.hpp>

namespace slipstream {

/// How a message is written in flight. A codec turns the packed values of one message into its wire form and back,
/// in stream order, on the sending and the receiving device.
class Codec {
 public:
  virtual ~Codec() = default;
  virtual std::string name() const = 0;
  virtual bool lossless() const = 0;
  /// True where packed values are the wire form already: encode and decode are then never called.
  virtual bool identity() const = 0;
  /// The most bytes that `bytes` of packed values can take on the wire.
  virtual std::size_t wire_bytes(std::size_t bytes) const = 0;
  virtual void encode(Stream& stream, const std::byte* values, std::size_t bytes, std::byte* wire) const = 0;
  virtual void decode(Stream& stream, const std::byte* wire, std::size_t bytes, std::byte* values) const = 0;
};

/// Values travel as they are.
std::shared_ptr<const Codec> raw_codec();

}  // namespace slipstream
