#include "solver/krylov/several_sums.hpp"

#include "solver/krylov/workspace.hpp"

namespace slipstream::krylov {

std::vector<Device> devices_of(const Communicator& comm, const Machine& machine) {
  std::vector<Device> devices;
  for (const int device : machine.devices_of_rank(comm.rank())) devices.push_back(machine.device(device).local);
  return devices;
}

Basis::Basis(const std::vector<Device>& devices, const Layout& layout, int most, const Vectors& memory)
    : values_(memory) {
  for (std::size_t d = 0; d < devices.size(); ++d) {
    points_.push_back(layout.components * layout.points[d]);
    if (!memory.empty()) continue;
    Buffer<double>& part = own_.emplace_back(devices[d], static_cast<std::size_t>(most * points_[d]));
    values_.push_back(part.data());
    Stream stream(devices[d]);
    if (part.size() > 0) fill(stream, part.data(), 0, part.bytes());
    stream.synchronize();
  }
}

Vectors Basis::at(int k) const {
  Vectors found;
  for (std::size_t d = 0; d < values_.size(); ++d) found.push_back(values_[d] + k * points_[d]);
  return found;
}

Several Basis::first(std::size_t device, int count) const {
  Several several{{}, count};
  for (int k = 0; k < count; ++k) several.of[k] = values_[device] + k * points_[device];
  return several;
}

SeveralSums::SeveralSums(const Communicator& comm, const Machine& machine, const Layout& layout, int most)
    : most_(most), sums_(comm, machine, blocks_of(layout), most) {
  const std::vector<Device> devices = devices_of(comm, machine);
  for (std::size_t d = 0; d < devices.size(); ++d) {
    ranges_.push_back({layout.points[d], layout.block});
    const auto count = static_cast<std::size_t>(most);
    parts_.emplace_back(devices[d], count * static_cast<std::size_t>(ranges_[d].blocks()) + 1);
    results_.emplace_back(devices[d], count);
  }
  host_ = Buffer<double>(devices.front(), static_cast<std::size_t>(most), Memory::pinned);
}

void SeveralSums::find(std::vector<Stream>& streams, const Values& weights, const Values& u, const Basis& v,
                       int count) {
  std::vector<const double*> parts;
  std::vector<double*> results;
  for (std::size_t d = 0; d < ranges_.size(); ++d) {
    dots(streams[d], ranges_[d], weights[d], u[d], v.first(d, count), most_, parts_[d].data());
    parts.push_back(parts_[d].data());
    results.push_back(results_[d].data());
  }
  sums_.run(streams, parts, results);
}

std::vector<double> SeveralSums::read(std::vector<Stream>& streams) {
  copy(streams.front(), host_.data(), results_.front().data(), host_.bytes());
  streams.front().synchronize();
  sums_.check();
  return {host_.data(), host_.data() + most_};
}

}  // namespace slipstream::krylov
