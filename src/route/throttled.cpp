// Delays messages that the host sends, as a slow link would do.
#include <chrono>
#include <deque>
#include <utility>

#include "node/transport.hpp"

namespace slipstream {
namespace {

using Clock = std::chrono::steady_clock;

class ThrottledOutlet final : public Outlet {
 public:
  ThrottledOutlet(std::unique_ptr<Outlet> inner, const Pieces& pieces, const Throttle& throttle)
      : inner_(std::move(inner)), pieces_(pieces), throttle_(throttle) {}

  void begin(std::uint64_t sequence) override {
    begun_ = std::max(Clock::now(), free_);
    free_ = begun_ + after(throttle_.seconds(static_cast<double>(pieces_.bytes)) - throttle_.latency_us * 1e-6);
    inner_->begin(sequence);
  }
  bool room(std::uint64_t sequence) override { return inner_->room(sequence); }
  void send(int piece, std::uint64_t sequence) override {
    const double bytes = static_cast<double>(pieces_.at(piece) + pieces_.size(piece));
    queued_.push_back({piece, sequence, begun_ + after(throttle_.seconds(bytes))});
    drive();
  }
  void drive() override {
    for (; !queued_.empty() && queued_.front().due <= Clock::now(); queued_.pop_front())
      inner_->send(queued_.front().piece, queued_.front().sequence);
    inner_->drive();
  }
  bool sent() override { return queued_.empty() && inner_->sent(); }
  bool settle() override { return inner_->settle(); }
  std::string escort() const override { return inner_->escort(); }

 private:
  static Clock::duration after(double seconds) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  }
  struct Queued {
    int piece;
    std::uint64_t sequence;
    Clock::time_point due;
  };

  std::unique_ptr<Outlet> inner_;
  Pieces pieces_;
  Throttle throttle_;
  Clock::time_point begun_{}, free_{};  // start of this exchange, and time when the link is free again
  std::deque<Queued> queued_;
};

}  // namespace

std::unique_ptr<Outlet> throttled(std::unique_ptr<Outlet> outlet, const Pieces& pieces, const Throttle& throttle) {
  if (!throttle.slows()) return outlet;
  return std::make_unique<ThrottledOutlet>(std::move(outlet), pieces, throttle);
}

}  // namespace slipstream
