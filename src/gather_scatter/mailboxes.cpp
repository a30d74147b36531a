#include "gather_scatter/mailboxes.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include <slipstream/error.hpp>

#include "machine/agree.hpp"
#include "machine/hash.hpp"
#include "machine/records.hpp"
#include "machine/rendezvous.hpp"
#include "machine/sum.hpp"

namespace slipstream {
namespace {

struct Stretch {
  std::int64_t source = 0, target = 0;  ///< indices of the source and target devices, and of their mailboxes
  std::int64_t from = 0, to = 0, count = 0;
  auto operator<=>(const Stretch&) const = default;
};

/// Copies ranges of values between mailboxes. Each mailbox is a block of a one-dimensional grid.
class MailboxPattern final : public Pattern {
 public:
  /// `stretches`: the ranges of values that this rank exchanges. All ranks get one hash of all ranges. Collective.
  MailboxPattern(const Communicator& comm, std::string name, std::vector<Stretch> stretches)
      : name_(std::move(name)), stretches_(std::move(stretches)) {
    std::sort(stretches_.begin(), stretches_.end());
    Hash own;
    own.add(comm.rank());
    for (const Stretch& s : stretches_) own.add(s.source, s.target, s.from, s.to, s.count);
    fingerprint_ = sum_over_ranks(comm, own.value());
  }
  std::string name() const override { return name_; }
  std::uint64_t fingerprint() const override { return fingerprint_; }
  /// Transfers of this rank only, because it does not know which values other ranks exchange.
  std::vector<Transfer> transfers(const Grid& grid, int components, const Extent&, int rank) const override {
    require(rank == grid.rank(), ErrorCode::mismatch, "a gather-scatter is planned by its own rank alone");
    std::vector<int> all(static_cast<std::size_t>(components));
    std::iota(all.begin(), all.end(), 0);
    std::vector<Transfer> found;
    for (const Stretch& s : stretches_)
      found.push_back({s.source,
                       s.target,
                       {{{s.from, 0, 0}, {s.from + s.count, 1, 1}}, all, nullptr},
                       {{{s.to, 0, 0}, {s.to + s.count, 1, 1}}, all, nullptr},
                       Op::copy});
    return found;
  }

 private:
  std::string name_;
  std::vector<Stretch> stretches_;
  std::uint64_t fingerprint_ = 0;
};

/// Offsets of a message in a device's sent and received values. Its rank sends them to the device at the other end.
struct Address {
  std::int64_t device = 0, other = 0;
  std::int64_t outgoing = 0, incoming = 0, count = 0;  ///< count: values that this device receives
};

/// Ranges of values that this rank sends or receives. `devices`: devices of this rank. Throws mismatch if both devices
/// of a pair disagree on a number of values. Collective.
std::vector<Stretch> stretches_of(const Communicator& comm, const Machine& machine, const std::vector<int>& devices,
                                  const std::vector<const Mailbox*>& boxes, double seconds) {
  std::map<int, std::string> texts;
  for (std::size_t d = 0; d < boxes.size(); ++d)
    for (const MailboxShare& mail : boxes[d]->mail)
      append_record(texts[machine.device(mail.device).rank],
                    Address{devices[d], mail.device, mail.outgoing, mail.incoming, mail.incoming_count});
  PrivateCommunicator own(comm, "the mailboxes of a gather-scatter");
  std::map<std::pair<std::int64_t, std::int64_t>, Address> known;
  for (const auto& [rank, text] : rendezvous(own, std::move(texts), seconds))
    for (const Address& address : records_of<Address>({text})) known[{address.device, address.other}] = address;
  std::vector<Stretch> stretches;
  on_all_ranks(comm, [&] {
    for (std::size_t d = 0; d < boxes.size(); ++d)
      for (const MailboxShare& mail : boxes[d]->mail) {
        const auto there = known.find({mail.device, devices[d]});
        require(there != known.end() && there->second.count == mail.outgoing_count, ErrorCode::mismatch,
                "devices " + std::to_string(devices[d]) + " and " + std::to_string(mail.device) +
                    " of a gather-scatter list different numbers of shared values",
                {{"device", devices[d]}, {"peer", mail.device}});
        stretches.push_back({devices[d], mail.device, mail.outgoing, there->second.incoming, mail.outgoing_count});
        // Incoming values are listed for other ranks' devices only; a sending device of this rank has listed its own.
        if (machine.device(mail.device).rank != comm.rank())
          stretches.push_back({mail.device, devices[d], there->second.outgoing, mail.incoming, mail.incoming_count});
      }
    std::erase_if(stretches, [](const Stretch& stretch) { return stretch.count == 0; });
  });
  return stretches;
}

}  // namespace

Mailboxes::Mailboxes(const Communicator& comm, const Machine& machine, const std::string& name,
                     const std::vector<const Mailbox*>& boxes, const GatherScatterOptions& options,
                     const Coding& coding, double seconds)
    : coding_(coding) {
  const std::vector<int> devices = machine.devices_of_rank(comm.rank());
  std::vector<std::int64_t> mine;
  for (const Mailbox* box : boxes) mine.push_back(std::max<std::int64_t>(box->size, 1));
  const std::vector<std::int64_t> sizes = by_device(comm, machine, mine);
  const std::vector<Stretch> stretches = stretches_of(comm, machine, devices, boxes, seconds);
  if (comm.all(stretches.empty())) return;
  pattern_ = std::make_unique<MailboxPattern>(comm, name, stretches);
  // Each device's mailbox is one block of a field, which the exchange moves.
  on_all_ranks(comm, "a gather-scatter could not be made", [&] {
    GridOptions blocks;
    std::int64_t at = 0;
    for (std::size_t device = 0; device < sizes.size(); ++device) {
      Block block;
      block.box = {{at, 0, 0}, {at + sizes[device], 1, 1}};
      block.device = static_cast<int>(device);
      at += sizes[device];
      blocks.boxes.push_back(block);
    }
    grid_ = std::make_unique<Grid>(Extent{at, 1, 1}, machine, comm.rank(), blocks);
    FieldOptions values;
    values.name = "shared points";
    values.type = options.type;
    values.components = options.components;
    values.shared = true;
    field_ = std::make_unique<Field>(*grid_, values);
    for (const int device : devices) {
      const BlockShape& shape = field_->shape(device);
      values_.push_back({field_->data(device) + shape.origin * static_cast<std::int64_t>(size_of(options.type)),
                         shape.component_stride});
    }
  });
}

void Mailboxes::connect(const Communicator& comm, const ExchangeOptions& options, const std::optional<TuneOptions>& how,
                        const Once& once) {
  tuning_.options = options;
  tuning_.source = "rules";
  if (!pattern_) return;
  const std::vector<ExchangeItem> items{{pattern_.get(), field_.get(), nullptr, false, coding_}};
  if (how) tuning_ = tune(comm, *grid_, items, options, *how, once);
  exchange_ = std::make_unique<Exchange>(comm, *grid_, items, tuning_.options);
}

}  // namespace slipstream
