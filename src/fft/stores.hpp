#pragma once
// The last transform before a move, whose results go where the exchange wants them (slipstream/window.hpp): nothing
// packs them.
#include <memory>

#include <slipstream/exchange.hpp>

#include "fft/lines.hpp"

namespace slipstream::fft {

class StoredLines {
 public:
  virtual ~StoredLines() = default;
  /// Once, before the first run, for the exchange that all runs are given.
  virtual void prepare(const Exchange&) {}
  /// Between open() and post(): queues all transforms and the stores of their results, through the windows of item 0.
  /// `work` holds a whole block, whose values are of no use afterwards.
  virtual void run(Stream& stream, const void* from, void* work, const Exchange& exchange) = 0;
  /// The same, and other lines that read nothing of it: in the same launch, where kernels can.
  virtual void run_beside(Stream& stream, const void* from, void* work, const Exchange& exchange, Lines& others,
                          const void* others_from, void* others_to);
  /// Modes along the first axis of the block are read through an operation, where applies() says so.
  virtual void run_with(Stream&, const void*, void*, const Exchange&, const Operation&);
  virtual bool applies(const Pointwise&) const { return false; }
};

/// Whether a device of the backend can; `own`: by the kernels of GPUs.
bool can_store(Backend backend, bool own, const LineBatch& batch);
/// Of a block of this extent, whose first axis is that of the lines.
std::unique_ptr<StoredLines> make_stored_lines(Device device, bool own, const LineBatch& batch, const Extent& block);

}  // namespace slipstream::fft
