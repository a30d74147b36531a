#pragma once
// Exchanges between begin and end whose routes need the host.
#include <functional>

namespace slipstream {

/// Registers an open exchange. The host drives it also while it waits for another one, because ranks may end several
/// exchanges in different orders.
class OpenExchange {
 public:
  /// Makes an exchange that can be open. `drive` is called only by the thread that called open().
  explicit OpenExchange(std::function<void()> drive) : drive_(std::move(drive)) {}
  ~OpenExchange() { close(); }
  OpenExchange(const OpenExchange&) = delete;
  OpenExchange& operator=(const OpenExchange&) = delete;

  void open();
  void close() noexcept;
  /// Drives the other open exchanges of this thread.
  void drive_others() const;

 private:
  std::function<void()> drive_;
};

}  // namespace slipstream
