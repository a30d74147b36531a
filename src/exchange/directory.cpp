#include "exchange/directory.hpp"

#include <utility>

#include <slipstream/error.hpp>

#include "machine/records.hpp"
#include "machine/rendezvous.hpp"

namespace slipstream {

void Directory::publish(const Key& key, int user, Device device, void* address) {
  Record record;
  record.key = key;
  record.address = reinterpret_cast<std::uint64_t>(address);
  known_[key] = record;  // devices of this rank look up the memory's address here; other ranks get it by message
  if (user == rank_) return;
  record.mapped = 1;
  record.handle = export_memory(device, address);
  append_record(letters_[user], record);
}

void Directory::exchange(PrivateCommunicator& own, double seconds) {
  for (const auto& [rank, text] : rendezvous(own, std::exchange(letters_, {}), seconds))
    for (const Record& record : records_of<Record>({text})) known_[record.key] = record;
}

void* Directory::find(const Key& key, Device user) {
  const auto found = known_.find(key);
  require(found != known_.end(), ErrorCode::mismatch,
          "device " + std::to_string(key.device) + " published no address for device " + std::to_string(key.peer) +
              ": the ranks planned different exchanges");
  const Record& record = found->second;
  if (!record.mapped) return reinterpret_cast<void*>(record.address);
  imported_.push_back(import_memory(user, record.handle));
  return imported_.back().get();
}

}  // namespace slipstream
