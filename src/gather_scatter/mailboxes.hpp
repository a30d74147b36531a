#pragma once
// Exchanges between mailboxes, an array a device: what a gather-scatter sends and receives.
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

/// The mailboxes of this rank's devices, and the exchange that carries what they hold.
class Mailboxes {
 public:
  struct Options {
    DType type = DType::f64;
    int components = 1;
    Coding coding = {};
  };
  /// Collective. `boxes`: of each of this rank's devices, in the machine's order; `name`: what errors call it.
  Mailboxes(const Communicator& comm, const Machine& machine, const std::string& name,
            const std::vector<const Mailbox*>& boxes, const Options& options, double seconds);

  /// Collective, once. Routes are measured where `how` says so, with exchanges that `once` runs.
  void connect(const Communicator& comm, const ExchangeOptions& options, const std::optional<TuneOptions>& how,
               const Once& once);

  /// Null where no device has a message for another; the same on all ranks.
  Exchange* exchange() const { return exchange_.get(); }
  /// Of the i-th device of this rank.
  Values values(std::size_t device) const { return values_.empty() ? Values{} : values_[device]; }
  const Tuning& tuning() const { return tuning_; }

 private:
  Coding coding_;
  Tuning tuning_;
  std::vector<Values> values_;
  std::unique_ptr<Grid> grid_;
  std::unique_ptr<Pattern> pattern_;
  std::unique_ptr<Field> field_;
  std::unique_ptr<Exchange> exchange_;  // goes first
};

}  // namespace slipstream
