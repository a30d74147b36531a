#pragma once
// The last transform before a move stores its results directly in the target, through the exchange's windows
// (slipstream/window.hpp), without packing.
#include <memory>

#include <slipstream/exchange.hpp>

#include "fft/lines.hpp"

namespace slipstream::fft {

class StoredLines {
 public:
  virtual ~StoredLines() = default;
  /// Called once before the first run, with the exchange that gives all runs the target addresses of their results.
  virtual void prepare(const Exchange&) {}
  /// Queues all transforms, whose kernels store results at the destinations that the exchange gives for its first item.
  /// Call it between Exchange::open() and post(). `work` holds a whole block; its contents are undefined afterwards.
  virtual void run(Stream& stream, const void* from, void* work, const Exchange& exchange) = 0;
  /// Queues these transforms as run() does, concurrently with other, independent ones; in one launch if possible.
  virtual void run_concurrently(Stream& stream, const void* from, void* work, const Exchange& exchange, Lines& others,
                                const void* others_from, void* others_to);
  /// Runs the FFTs with a point-wise operation, applied to modes when they are loaded; only where applies() is true.
  virtual void run_with(Stream&, const void*, void*, const Exchange&, const Operation&);
  virtual bool applies(const Pointwise&) const { return false; }
};

/// Whether FFTs of lines can store results on other devices without packing; `own`: in the project's GPU kernels.
bool can_store(Backend backend, bool own, const LineBatch& batch);
/// Makes FFTs of the lines along the first axis of a block of this extent. Their kernels store each result directly in
/// memory of its target device, without packing.
std::unique_ptr<StoredLines> make_stored_lines(Device device, bool own, const LineBatch& batch, const Extent& block);

}  // namespace slipstream::fft
