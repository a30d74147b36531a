#pragma once
// Mailboxes and their exchange. A mailbox is a device's array of outgoing and received values.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <slipstream/communicator.hpp>
#include <slipstream/exchange.hpp>
#include <slipstream/field.hpp>
#include <slipstream/machine.hpp>

#include "exchange/tuning.hpp"
#include "gather_scatter/copies.hpp"
#include "gather_scatter/gather_scatter_kernels.hpp"

namespace slipstream {

/// Mailboxes (arrays of sent and received values) of this rank's devices, and the exchange between them.
class Mailboxes {
 public:
  /// Allocates one mailbox per device of this rank, as `boxes` describes. `name`: for error messages. Collective.
  /// `coding`: in place of that in `options`.
  Mailboxes(const Communicator& comm, const Machine& machine, const std::string& name,
            const std::vector<const Mailbox*>& boxes, const GatherScatterOptions& options, const Coding& coding,
            double seconds);

  /// Creates the exchange. Collective, called once. If `how` is given, routes are tuned with exchanges run by `once`.
  void connect(const Communicator& comm, const ExchangeOptions& options, const std::optional<TuneOptions>& how,
               const Once& once);

  /// The exchange of the devices' mailboxes (arrays of sent and received values). Null if no device sends to another.
  Exchange* exchange() const { return exchange_.get(); }
  /// Values in the mailbox of this rank's device number `device`.
  Values values(std::size_t device) const { return values_.empty() ? Values{} : values_[device]; }
  const Tuning& tuning() const { return tuning_; }

 private:
  Coding coding_;
  Tuning tuning_;
  std::vector<Values> values_;
  std::unique_ptr<Grid> grid_;
  std::unique_ptr<Pattern> pattern_;
  std::unique_ptr<Field> field_;
  std::unique_ptr<Exchange> exchange_;  // last member: the exchange ends before the field that it moves
};

}  // namespace slipstream
