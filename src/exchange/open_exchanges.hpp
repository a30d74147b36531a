#pragma once
// Exchanges between begin and end whose routes need the host.
#include <functional>

namespace slipstream {

/// Registers an exchange while it is open, so that the host drives it also while it waits for another one: ranks may
/// end several in differing orders.
class OpenExchange {
 public:
  /// `drive` is called by the thread that called open(), and by no other.
  explicit OpenExchange(std::function<void()> drive) : drive_(std::move(drive)) {}
  ~OpenExchange() { close(); }
  OpenExchange(const OpenExchange&) = delete;
  OpenExchange& operator=(const OpenExchange&) = delete;

  void open();
  void close() noexcept;
  /// Drives the others that this thread has opened.
  void drive_others() const;

 private:
  std::function<void()> drive_;
};

}  // namespace slipstream
