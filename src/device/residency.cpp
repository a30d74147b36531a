#include "device/residency.hpp"

#include <algorithm>

namespace slipstream {

int ResidentBlocks::grant(int wanted, int resident, const std::vector<Waiting>& others) const {
  if (others.empty()) return wanted;
  int places = processors_ * resident;
  for (const Waiting& other : others) places -= other.blocks * ((resident + other.resident - 1) / other.resident);
  return places <= 0 ? 0 : std::min(wanted, std::max(1, places / 2));
}

Residency::Residency(Device device) : device_(device), blocks_(info(device).processors) {}

Residency& Residency::of(Device device) {
  static std::mutex mutex;
  // This map is never destroyed: destroying its events after the driver has shut down is an error.
  static auto& all = *new std::map<Device, std::unique_ptr<Residency>>;
  const std::lock_guard lock(mutex);
  std::unique_ptr<Residency>& one = all[device];
  if (!one) one = std::make_unique<Residency>(device);
  return *one;
}

/// Thread blocks of unfinished launches on other streams. Forgets launches that have finished.
std::vector<ResidentBlocks::Waiting> Residency::others(std::uint64_t stream) {
  std::erase_if(entries_, [&](const auto& entry) { return entry.first != stream && entry.second.end.done(); });
  std::vector<ResidentBlocks::Waiting> found;
  for (const auto& [id, entry] : entries_)
    if (id != stream) found.push_back(entry.waiting);
  return found;
}

void Residency::follow_oldest(Stream& stream, std::vector<ResidentBlocks::Waiting>& others) {
  const auto oldest = std::min_element(others.begin(), others.end(), [&](const auto& a, const auto& b) {
    return entries_.at(a.stream).since < entries_.at(b.stream).since;
  });
  stream.wait(entries_.at(oldest->stream).end);
  others.erase(oldest);
}

void Residency::launch(Stream& stream, int wanted, int resident, const std::function<void(int)>& launch) {
  if (device_.backend == Backend::host || stream.capturing()) return launch(wanted);
  const std::uint64_t id = stream.id();
  const std::lock_guard lock(mutex_);
  std::vector<ResidentBlocks::Waiting> beside = others(id);
  int blocks = 0;
  while ((blocks = blocks_.grant(wanted, resident, beside)) == 0) follow_oldest(stream, beside);
  launch(blocks);
  const auto [found, added] = entries_.try_emplace(id, Entry{{id, blocks, resident}, Event(device_)});
  Entry& entry = found->second;
  // Each stream is recorded by its largest launch: an earlier one stays if it still runs on more multiprocessors.
  const ResidentBlocks::Waiting& before = entry.waiting;
  if (entry.end.done() || blocks * before.resident > before.blocks * resident) entry.waiting = {id, blocks, resident};
  entry.since = ++launches_;
  stream.record(entry.end);
}

}  // namespace slipstream
