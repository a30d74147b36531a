#include "exchange/directory.hpp"

#include <cstring>

namespace slipstream {

void Directory::publish(const Key& key, Device device, void* address, bool mapped) {
  Record record;
  record.key = key;
  record.mapped = mapped;
  record.address = reinterpret_cast<std::uint64_t>(address);
  if (mapped) record.handle = export_memory(device, address);
  mine_.push_back(record);
}

void Directory::gather(const Communicator& comm) {
  rank_ = comm.rank();
  for (Record& record : mine_) record.rank = rank_;
  const auto texts =
      comm.all_gather(std::string(reinterpret_cast<const char*>(mine_.data()), mine_.size() * sizeof(Record)));
  for (const std::string& text : texts)
    for (std::size_t at = 0; at + sizeof(Record) <= text.size(); at += sizeof(Record)) {
      Record record;
      std::memcpy(&record, text.data() + at, sizeof record);
      all_[record.key] = record;
    }
}

void* Directory::find(const Key& key, Device user) {
  const auto found = all_.find(key);
  require(found != all_.end(), ErrorCode::mismatch,
          "device " + std::to_string(key.device) + " published no address for device " + std::to_string(key.peer) +
              ": the ranks planned different exchanges");
  const Record& record = found->second;
  if (record.rank == rank_) return reinterpret_cast<void*>(record.address);
  require(record.mapped != 0, ErrorCode::internal,
          "memory of device " + std::to_string(key.device) + " was not offered for mapping");
  imported_.push_back(import_memory(user, record.handle));
  return imported_.back().get();
}

}  // namespace slipstream
