// Chooses the coding of field values in messages where the user gave `auto`: the fastest one within the given error.
// Codings are timed in exchanges of the fields' own values.
#include <algorithm>
#include <cmath>

#include <slipstream/error.hpp>
#include <slipstream/tuner.hpp>

#include "coding/wire.hpp"
#include "exchange/choices.hpp"
#include "exchange/plan.hpp"
#include "machine/clock.hpp"

namespace slipstream {
namespace {

bool is_automatic(const ExchangeItem& item) { return item.coding.kind == Coding::Kind::automatic; }

/// Lossy codings with at most the error that the user allows for a field in messages; none if no error is allowed.
std::vector<Coding> allowed(const ExchangeItem& item) {
  const std::optional<double> error = item.coding.max_error;
  return error ? codings_that_keep(item.source->options().type, *error) : std::vector<Coding>();
}

/// Seconds of an exchange on the slowest rank; infinite if a value overflows its coding. Collective.
double time_of(const Communicator& comm, const Grid& grid, const std::vector<ExchangeItem>& items,
               const ExchangeOptions& options) {
  Exchange exchange(comm, grid, items, options);
  std::vector<Stream> streams;
  for (const int device : grid.machine().devices_of_rank(grid.rank()))
    streams.emplace_back(grid.machine().device(device).local);
  TuneOptions how;
  how.trials = 6;
  const Trials found = measure(comm, how, {[&] {
                                 const double start = seconds_now();
                                 exchange.run(streams);
                                 for (Stream& stream : streams) stream.synchronize();
                                 const double taken = seconds_now() - start;
                                 exchange.check();
                                 return taken;
                               }});
  if (found.failure && found.failure->code() == ErrorCode::overflow) return never;
  throw_if(found.failure);
  return found.seconds;
}

}  // namespace

std::vector<Coding> codings_that_keep(DType type, double max_error) {
  require(max_error >= 0x1p-1000 && max_error <= 0x1p1000, "a max error of codings is above 0 and finite",
          {{"option", "max_error"}, {"given", max_error}});
  const double rate = std::max(8., std::ceil((3 - std::log2(max_error)) / 4) * 4);
  std::vector<Coding> all{{.kind = Coding::Kind::cast},
                          {.kind = Coding::Kind::blockfloat, .rate = rate},
                          {.kind = Coding::Kind::zfp, .max_error = max_error}};
  const auto fails = [&](const Coding& coding) {
    try {
      return wire_of(coding, type, "a field").worst(type, 1) > max_error;
    } catch (const Error&) {
      return true;  // the coding does not support the number type
    }
  };
  std::erase_if(all, fails);
  return all;
}

CodingChoice choose_codings(const Communicator& comm, const Grid& grid, std::vector<ExchangeItem> items,
                            const ExchangeOptions& options) {
  CodingChoice choice;
  // Exchanged fields that allow the same codings of values in messages get the same one, which keeps trials few.
  std::vector<Coding> all;
  bool lossy = false;
  on_all_ranks(comm, "codings cannot be chosen", [&] {
    for (const ExchangeItem& item : items) {
      if (!is_automatic(item) || !item.coding.max_error) continue;
      require(item.pattern->op() == Op::copy, ErrorCode::unsupported,
              "the coding auto is chosen by exchanges of the values themselves, and the pattern '" +
                  item.pattern->name() + "' would add them up: name a coding",
              {{"option", "coding"}, {"pattern", item.pattern->name()}});
      lossy = true;
      for (const Coding& coding : allowed(item))
        if (std::find(all.begin(), all.end(), coding) == all.end()) all.push_back(coding);
    }
  });
  /// Returns all fields' transfers. Fields with automatic coding get `coding` if it is allowed for them, else none.
  const auto with = [&](const Coding& coding) {
    std::vector<ExchangeItem> coded = items;
    for (ExchangeItem& item : coded) {
      if (!is_automatic(item)) continue;
      const std::vector<Coding> some = allowed(item);
      item.coding = std::find(some.begin(), some.end(), coding) == some.end() ? Coding{} : coding;
    }
    return coded;
  };
  choice.items = with({});
  if (!lossy) {
    choice.reason = "raw: without a max error nothing may be lost";
    return choice;
  }
  const double raw = time_of(comm, grid, choice.items, options);
  double best = raw / timing_noise;
  std::string times = "raw " + microseconds(1e6 * raw), fastest = "raw";
  for (const Coding& coding : all) {
    std::vector<ExchangeItem> coded = with(coding);
    const double time = time_of(comm, grid, coded, options);
    times +=
        ", " + to_string(coding) + (std::isfinite(time) ? " " + microseconds(1e6 * time) : " cannot hold some value");
    if (time >= best) continue;
    best = time;
    fastest = to_string(coding);
    choice.items = std::move(coded);
  }
  choice.reason = fastest + ": the fastest of " + times;
  return choice;
}

}  // namespace slipstream
