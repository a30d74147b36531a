#include "exchange/open_exchanges.hpp"

#include <algorithm>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <slipstream/error.hpp>

namespace slipstream {
namespace {

struct Registry {
  std::mutex mutex;
  std::vector<std::pair<std::thread::id, const OpenExchange*>> all;
};

/// The registry is never destroyed: exchanges of static lifetime may close later.
Registry& registry() {
  static Registry* one = new Registry;
  return *one;
}

}  // namespace

void OpenExchange::open() {
  Registry& open = registry();
  const std::lock_guard lock(open.mutex);
  open.all.emplace_back(std::this_thread::get_id(), this);
}

void OpenExchange::close() noexcept {
  Registry& open = registry();
  const std::lock_guard lock(open.mutex);
  std::erase_if(open.all, [this](const auto& entry) { return entry.second == this; });
}

void OpenExchange::drive_others() const {
  std::vector<const OpenExchange*> others;
  {
    Registry& open = registry();
    const std::lock_guard lock(open.mutex);
    for (const auto& [thread, other] : open.all)
      if (thread == std::this_thread::get_id() && other != this) others.push_back(other);
  }
  for (const OpenExchange* other : others) {
    try {
      other->drive_();
    } catch (const Error&) {
      // An error is ignored here: the exchange's own end() reports it.
    }
  }
}

}  // namespace slipstream
