#include <slipstream/tuner.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <deque>
#include <exception>
#include <map>
#include <optional>
#include <set>

#include <slipstream/error.hpp>

#include "exchange/choices.hpp"
#include "exchange/overlaps.hpp"
#include "exchange/plan.hpp"
#include "exchange/same_on_ranks.hpp"
#include "exchange/tuner_cache.hpp"
#include "exchange/tuning.hpp"
#include "machine/clock.hpp"
#include "machine/gpu_mpi.hpp"
#include "machine/hash.hpp"
#include "machine/private_communicator.hpp"
#include "machine/records.hpp"
#include "machine/same_ranks.hpp"
#include "machine/timeout.hpp"

namespace slipstream {
namespace {

using PairKey = std::pair<int, int>;
using Times = std::map<PairKey, double>;  // microseconds

/// One route for all pairs that it can serve, with one setting of its knobs. Other pairs follow the rules.
struct Candidate {
  std::string name;
  std::optional<RouteKind> route;  // none: all pairs follow the rules
  Knobs knobs;
  std::map<PairKey, RouteKind> chosen;
  Times times = {};
  double whole = never;  // microseconds on the slowest rank, by its host's clock
  bool measured = false;
};

std::string shown(double microseconds) {
  char text[40];
  std::snprintf(text, sizeof text, microseconds < 100 ? "%.1f us" : "%.0f us", microseconds);
  return text;
}

class Tuner {
 public:
  Tuner(const Communicator& comm, const Grid& grid, const std::vector<ExchangeItem>& items,
        const ExchangeOptions& options, const TuneOptions& how, const Once& once)
      : comm_(unshared(comm)), grid_(grid), items_(items), options_(options), how_(how), once_(once) {
    if (!how.work_name.empty()) overlapped_ = " overlapped with '" + how.work_name + "'";
    std::replace(overlapped_.begin(), overlapped_.end(), '\n', ' ');
    // Tuning packs produced values too, because the caller's kernels are not there to store them.
    for (ExchangeItem& item : items_) {
      if (item.produced && item.source->options().later) bare_ = item.source->options().name;
      item.produced = false;
    }
    planned_ = planned(items_);
    options_.trace = nullptr;
    options_.poison = false;
  }

  Tuning run() {
    const double start = seconds_now();
    std::uint64_t mine = 0;
    std::string words;
    const Problem unplanned = failure_of([&] {
      require_ranks_of(comm_, grid_.machine(), grid_.rank(), "a tuned exchange");
      wait_limit_ns(options_.wait_limit, "an exchange");
      words = described(grid_, planned_) + ", tuned with " + std::to_string(how_.warm_ups) + " warm-ups, " +
              std::to_string(how_.trials) + " trials and a drop factor of " + std::to_string(how_.drop_factor) +
              overlapped_;
      mine = number();
    });
    require_same(comm_, mine, words, "exchanges", unplanned);
    check_work(comm_, how_);
    result_.options = options_;
    result_.source = "rules";
    list_pairs();
    if (worth_measuring()) find();
    result_.seconds = seconds_now() - start;
    return std::move(result_);
  }

 private:
  /// Hash of everything that must be equal on all ranks. It differs from the hash of any exchange.
  std::uint64_t number() const {
    Hash hash;
    for (const std::uint64_t value :
         {plan_hash(grid_, planned_, options_), static_cast<std::uint64_t>(how_.warm_ups),
          static_cast<std::uint64_t>(how_.trials), std::bit_cast<std::uint64_t>(how_.drop_factor)})
      hash.add(value);
    hash.add(overlapped_);
    return hash.value();
  }

  // Candidates ----------------------------------------------------------------------------------------------------

  /// Lists all messages between two devices, of all ranks, with their sizes.
  void list_pairs() {
    Bundles bundles;
    bool onto_itself = false;
    on_all_ranks(comm_, [&] {
      bundles = bundle(grid_, planned_, grid_.rank());
      if (!bare_.empty()) return;
      leave_what_rests(grid_, items_, bundles);
      onto_itself = moved_onto_itself(grid_, items_, bundles);
    });
    onto_itself_ = !comm_.all(!onto_itself);
    std::string mine;
    std::uint64_t hash = 0;
    for (const auto& [key, b] : bundles.by_pair) {
      if (grid_.machine().device(key.first).rank != grid_.rank()) continue;
      hash +=
          transfers_hash(b) * (2 * static_cast<std::uint64_t>(key.first) + 1) + static_cast<std::uint64_t>(key.second);
      if (key.first != key.second) append_record(mine, Entry{key.first, key.second, static_cast<double>(b.bytes)});
    }
    pairs_ = gathered(mine);
    transfers_ = 0;
    for (const std::int64_t part : comm_.all_gather(static_cast<std::int64_t>(hash)))
      transfers_ += static_cast<std::uint64_t>(part);
  }

  bool worth_measuring() {
    if (!bare_.empty()) {
      result_.notes.push_back("field " + bare_ + " may have no arrays to measure with: its routes follow the rules");
      return false;
    }
    if (onto_itself_) {
      result_.notes.push_back(
          "a field is moved onto itself, and measuring would change it: its routes follow the rules");
      return false;
    }
    return !pairs_.empty();
  }

  bool combines() const {
    return std::any_of(items_.begin(), items_.end(), [](const auto& item) { return item.pattern->op() != Op::copy; });
  }

  /// Puts fields of zeros in place of those into which exchanges combine, because each of them would change the sums.
  /// Returns false if a rank has no room for them. Collective.
  bool spare_sums() {
    std::map<Field*, Field*> spared;
    const Problem no_room = first_failure(comm_, failure_of([&] {
                                            for (const ExchangeItem& item : items_) {
                                              if (item.pattern->op() == Op::copy || spared.contains(&item.to()))
                                                continue;
                                              FieldOptions options = item.to().options();
                                              options.later = false;
                                              spared[&item.to()] = &zeros_.emplace_back(item.to().grid(), options);
                                            }
                                          }));
    if (no_room) {
      zeros_.clear();
      result_.notes.push_back(
          std::string("no room for zeros in place of what is combined: the routes follow the rules (") +
          no_room->what() + ")");
      return false;
    }
    for (ExchangeItem& item : items_)
      for (Field** field : {&item.source, &item.target})
        if (const auto found = spared.find(*field); found != spared.end()) *field = found->second;
    return true;
  }

  /// Properties as the exchanges will find them, including the test of MPI with device memory. Collective.
  Pairs proven_pairs() const {
    const auto& allowed = options_.routes;
    std::vector<Device> devices;
    for (const Stream& stream : streams_) devices.push_back(stream.device());
    const bool asked =
        std::any_of(allowed.begin(), allowed.end(), [](RouteKind kind) { return traits_of(kind).device_memory; });
    return Pairs(grid_.machine(), planned_, asked ? prove_gpu_mpi(comm_, devices) : "");
  }

  std::vector<RouteKind> serving(const Pair& pair) const {
    std::vector<RouteKind> kinds;
    for (const RouteKind kind : all_routes()) {
      const bool allowed = std::find(options_.routes.begin(), options_.routes.end(), kind) != options_.routes.end();
      if (allowed && refusal(kind, pair, options_).empty()) kinds.push_back(kind);
    }
    return kinds;
  }

  void list_candidates(const Pairs& pairs) {
    candidates_.push_back({"rules", {}, options_.knobs, {}});
    std::map<RouteKind, std::map<PairKey, RouteKind>> served;
    std::map<RouteKind, double> largest;
    for (const auto& [key, bytes] : pairs_)
      for (const RouteKind kind : serving(pairs.of(key.first, key.second))) {
        served[kind][key] = kind;
        largest[kind] = std::max(largest[kind], bytes);
      }
    for (const auto& [kind, chosen] : served)
      for (const auto& [name, knobs] : variants(kind, largest[kind]))
        candidates_.push_back({to_string(kind) + name, kind, knobs, chosen});
  }

  /// Settings of the knobs that a route supports. Knobs that the user set stay unchanged.
  std::vector<std::pair<std::string, Knobs>> variants(RouteKind kind, double largest) const {
    const Knobs asked = options_.knobs, plain;
    std::vector<std::pair<std::string, Knobs>> list{{"", asked}};
    const auto also = [&](const std::string& name, auto change) {
      Knobs knobs = asked;
      change(knobs);
      list.push_back({name, knobs});
    };
    const bool gpu = grid_.machine().device(0).local.backend == Backend::cuda;
    const RouteTraits traits = traits_of(kind);
    if (traits.in_place) {
      for (const int teams : {0, 64}) {
        if (teams && (!gpu || asked.teams != plain.teams)) continue;
        const std::string with = teams ? ", 64 teams" : "";
        if (teams) also(with, [&](Knobs& k) { k.teams = teams; });
        if (combines() || asked.in_place != plain.in_place || asked.packet_limit != plain.packet_limit) continue;
        const auto without_packets = [&, teams](Knobs& k) { k.packet_limit = 0, k.teams = teams ? teams : k.teams; };
        also(", rows of 64 B in place" + with, [&](Knobs& k) { without_packets(k), k.in_place = 64; });
        also(", all in slots" + with, [&](Knobs& k) { without_packets(k), k.in_place = std::int64_t{1} << 60; });
      }
      // A small ring stays in the device's cache.
      if (constexpr std::int64_t small_ring = 8 << 20;
          !combines() && asked.ring == plain.ring && largest > 2 * small_ring)
        also(", a ring of 8 MiB", [](Knobs& k) { k.ring = small_ring; });
      if (!combines() && asked.packet_limit == plain.packet_limit)
        also(", all in packets", [](Knobs& k) { k.packet_limit = std::int64_t{1} << 60; });
    }
    if (!traits.stores && gpu && asked.teams == plain.teams) also(", 64 teams", [](Knobs& k) { k.teams = 64; });
    if (traits.streams && asked.streams == plain.streams)
      also(", one stream", [](Knobs& k) { k.streams = Lanes::one; });
    if (traits.pack && asked.pack == plain.pack && !options_.measure_errors)
      for (const Pack way : {Pack::per_direction, Pack::memcpy3d, Pack::zero_copy})
        if (!(way == Pack::zero_copy && traits.device_memory) && !(way == Pack::memcpy3d && coded()))
          also(", " + to_string(way) + " packing", [&](Knobs& k) { k.pack = way; });
    if (traits.pack && !asked.sync) also(", waiting for every packing", [](Knobs& k) { k.sync = true; });
    if (traits.grouping && asked.grouping == plain.grouping && grid_.machine().nodes() > 1)
      also(", one message per pair of nodes", [](Knobs& k) { k.grouping = Grouping::nodes; });
    if (traits.pack && asked.mpi == plain.mpi && asked.grouping == plain.grouping && all_to_all() &&
        (!traits.device_memory || one_device_a_rank()))
      for (const MpiCalls calls :
           {MpiCalls::alltoallv, MpiCalls::ialltoallv, MpiCalls::put_fence, MpiCalls::put_lock}) {
        // A library that fails on windows of device memory may hang. Such calls are tried only if the user names them.
        const bool puts = calls == MpiCalls::put_fence || calls == MpiCalls::put_lock;
        if (puts && gpu && traits.device_memory) continue;
        also(", mpi = " + to_string(calls), [&](Knobs& k) { k.mpi = calls; });
      }
    if (traits.chunk && asked.chunk == plain.chunk)
      for (const std::int64_t chunk : {std::int64_t{1} << 18, std::int64_t{1} << 20, std::int64_t{1} << 22})
        if (static_cast<double>(chunk) < largest)
          also(", chunks of " + std::to_string(chunk >> 10) + " KiB", [&](Knobs& k) { k.chunk = chunk; });
    return list;
  }

  bool coded() const {
    return std::any_of(items_.begin(), items_.end(),
                       [](const ExchangeItem& item) { return item.coding.kind != Coding::Kind::raw; });
  }
  /// Whether all-rank calls may pay: several ranks, and all send to all.
  bool all_to_all() const {
    const auto is_transpose = [](const ExchangeItem& item) { return item.pattern->name() == "transpose"; };
    return comm_.size() > 1 && std::any_of(items_.begin(), items_.end(), is_transpose);
  }
  bool one_device_a_rank() const { return grid_.machine().most_devices_of_rank() == 1; }

  // Measuring -----------------------------------------------------------------------------------------------------

  struct Entry {
    int source, target;
    double value;
  };

  Times gathered(const std::string& mine) const {
    Times all;
    for (const Entry& entry : records_of<Entry>(comm_.all_gather(mine)))
      all[{entry.source, entry.target}] = entry.value;
    return all;
  }

  /// Times from the receiving ranks, gathered on all ranks.
  Times gathered(const Exchange& exchange, const std::vector<double>& best) const {
    std::string mine;
    for (std::size_t m = 0; m < best.size(); ++m) {
      const MessageInfo& message = exchange.messages()[m];
      if (message.source != message.target && std::isfinite(best[m]))
        append_record(mine, Entry{message.source, message.target, best[m]});
    }
    return gathered(mine);
  }

  /// Records an Overflow of the work: it is no fault of the route.
  std::function<void()> watched(std::function<void()> work) {
    return [this, work = std::move(work)] {
      try {
        work();
      } catch (const Overflow& overflow) {
        too_large_ = overflow;
        throw;
      }
    };
  }

  /// True if no rank failed. Otherwise drops the candidate with a note. Throws Overflow on all ranks if some rank met
  /// one. Collective.
  bool goes_on(Candidate& candidate, const Problem& failed_here) {
    const Problem failure = first_failure(comm_, failed_here);
    if (!failure) return true;
    if (const Problem too_large = first_failure(comm_, too_large_))
      throw Overflow(too_large->what(), too_large->facts());
    if (comm_.rank() == 0) result_.notes.push_back(candidate.name + ": " + failure->what());
    candidate.measured = false;
    candidate.whole = never;
    candidate.times.clear();
    return false;
  }

  /// Describes a message of this rank that takes another route than requested; empty if there is none.
  static std::string astray(const Exchange& exchange, const Candidate& candidate) {
    for (const MessageInfo& m : exchange.messages())
      if (const auto asked = candidate.chosen.find({m.source, m.target});
          asked != candidate.chosen.end() && asked->second != m.route)
        return "the message from device " + std::to_string(m.source) + " to device " + std::to_string(m.target) +
               " took the route " + to_string(m.route) + " (" + m.reason + ")";
    return {};
  }

  void measure(Candidate& candidate) {
    ExchangeOptions options = options_;
    options.knobs = candidate.knobs;
    options.chosen = candidate.chosen;
    options.measure_errors = false;
    std::optional<Exchange> exchange;
    const auto make = [&] {
      exchange.emplace(comm_, grid_, items_, options);
      const std::string stray = astray(*exchange, candidate);
      require(stray.empty(), ErrorCode::unavailable, stray);
    };
    if (!goes_on(candidate, failure_of(make))) return;
    std::vector<double> best(exchange->messages().size(), never);
    const auto once = [&] { once_(*exchange, streams_); };
    const auto timed = [&] {
      double taken = never;
      watched([&] {
        const double start = seconds_now();
        once();
        for (Stream& stream : streams_) stream.synchronize();
        taken = seconds_now() - start;
        const std::vector<double> times = exchange->arrival_us();
        for (std::size_t m = 0; m < times.size(); ++m)
          if (times[m] >= 0) best[m] = std::min(best[m], times[m]);
      })();
      return taken;
    };
    const auto note = [&](double seconds) {
      candidate.times = gathered(*exchange, best);
      candidate.whole = std::min(candidate.whole, 1e6 * seconds);
    };
    const auto is_hopeless = [&](double first) {
      note(first);
      return hopeless(candidate);
    };
    const Trials found = slipstream::measure(comm_, how_, {timed, watched(once), is_hopeless});
    if (!goes_on(candidate, found.failure)) return;
    note(found.seconds);
    candidate.measured = true;
    best_whole_ = std::min(best_whole_, candidate.whole);
    for (const auto& [key, time] : candidate.times) {
      double& best_time = best_.try_emplace(key, never).first->second;
      best_time = std::min(best_time, time);
    }
  }

  /// All ranks have the same times and return the same.
  bool hopeless(const Candidate& candidate) const {
    if (best_.empty()) return false;
    if (overlaps()) return candidate.whole > how_.drop_factor * best_whole_;
    for (const auto& [key, time] : candidate.times) {
      const auto best = best_.find(key);
      if (best == best_.end() || time < how_.drop_factor * best->second) return false;
    }
    return true;
  }

  // Deciding ------------------------------------------------------------------------------------------------------

  /// Whether other work overlaps with the messages. Single message times are then meaningless.
  bool overlaps() const { return !overlapped_.empty(); }

  double cost(const Candidate& candidate) const {
    if (overlaps()) return candidate.whole;
    double sum = 0;
    for (const auto& [key, kind] : candidate.chosen) {
      const auto time = candidate.times.find(key);
      sum += time == candidate.times.end() ? never : time->second;
    }
    return sum;
  }

  /// Best setting of each route.
  std::map<RouteKind, const Candidate*> champions() const {
    std::map<RouteKind, const Candidate*> best;
    for (const Candidate& candidate : candidates_) {
      if (!candidate.route || !candidate.measured) continue;
      const Candidate*& champion = best[*candidate.route];
      if (!champion || cost(candidate) < cost(*champion)) champion = &candidate;
    }
    return best;
  }

  /// Combines the fastest route of each pair. Knobs belong to the whole exchange, so each knob comes from a route that
  /// it affects.
  Candidate mixture(const std::map<RouteKind, const Candidate*>& champions) {
    Candidate mixed{"the fastest for each pair", {}, options_.knobs, {}};
    std::set<RouteKind> used;
    for (const auto& [key, bytes] : pairs_) {
      std::vector<std::pair<double, RouteKind>> order;
      for (const auto& [kind, champion] : champions)
        if (champion->chosen.contains(key) && champion->times.contains(key))
          order.push_back({champion->times.at(key), kind});
      if (order.empty()) continue;
      std::sort(order.begin(), order.end());
      mixed.chosen[key] = order.front().second;
      used.insert(order.front().second);
      std::string reason = "measured: ";
      for (std::size_t n = 0; n < order.size(); ++n)
        reason += (n ? ", " : "") + to_string(order[n].second) + " " + shown(order[n].first);
      reasons_[key] = reason;
    }
    const auto some = [&](bool RouteTraits::*trait) {
      return std::any_of(used.begin(), used.end(), [&](RouteKind kind) { return traits_of(kind).*trait; });
    };
    const bool in_place = some(&RouteTraits::in_place), device_memory = some(&RouteTraits::device_memory);
    for (const RouteKind kind : used) {
      const Knobs& knobs = champions.at(kind)->knobs;
      const RouteTraits traits = traits_of(kind);
      if (traits.in_place) {
        mixed.knobs.in_place = knobs.in_place;
        mixed.knobs.packet_limit = knobs.packet_limit;
        mixed.knobs.ring = knobs.ring;
      }
      if (traits.in_place || !(traits.stores || in_place)) mixed.knobs.teams = knobs.teams;
      if (traits.grouping) mixed.knobs.grouping = knobs.grouping;
      if (traits.pack) mixed.knobs.mpi = knobs.mpi;
      if (traits.pack && (traits.device_memory || !(device_memory && knobs.pack == Pack::zero_copy))) {
        mixed.knobs.pack = knobs.pack;
        mixed.knobs.sync = knobs.sync;
      }
      if (traits.chunk && (traits.in_place || !in_place)) mixed.knobs.chunk = knobs.chunk;
      if (!traits.stores) mixed.knobs.streams = knobs.streams;
    }
    return mixed;
  }

  bool measured_before(const Candidate& mixed) const {
    return std::any_of(candidates_.begin(), candidates_.end(), [&](const Candidate& c) {
      return c.measured && c.route && c.chosen == mixed.chosen && c.knobs == mixed.knobs;
    });
  }

  /// Every rank measures. The result of rank 0 is used on all ranks.
  Found decide() {
    const Pairs pairs = proven_pairs();
    list_candidates(pairs);
    for (Candidate& candidate : candidates_) measure(candidate);
    // The rules were measured first, on idle devices and links. They are measured again, and the better time counts.
    if (candidates_.front().measured) measure(candidates_.front());
    Candidate mixed = mixture(champions());
    if (!measured_before(mixed)) {
      measure(mixed);
      candidates_.push_back(mixed);
    }
    double least = never;
    for (const Candidate& candidate : candidates_) least = std::min(least, candidate.whole);
    const auto best = std::find_if(candidates_.begin(), candidates_.end(), [&](const Candidate& candidate) {
      return candidate.measured && candidate.whole <= timing_noise * least;
    });
    require(best != candidates_.end(), ErrorCode::unavailable, "no route between the devices could be measured",
            {{"problem", "no_route"}});
    Found found{best->knobs, {}, {}};
    for (const auto& [key, bytes] : pairs_) {
      const auto given = best->chosen.find(key);
      const std::vector<RouteKind> serves = serving(pairs.of(key.first, key.second));
      found.chosen[key] = given != best->chosen.end() ? given->second : serves.front();
      std::string reason = reasons_.contains(key) ? reasons_[key] : "measured";
      const auto fastest = mixed.chosen.find(key);
      if (fastest == mixed.chosen.end() || fastest->second != found.chosen[key])
        reason += "; the exchange" + (overlaps() ? overlapped_ : " as a whole") + " is fastest with " + best->name +
                  " (" + shown(best->whole) + ")";
      found.reasons[key] = reason;
    }
    return found;
  }

  // Cache ---------------------------------------------------------------------------------------------------------

  void find() {
    // The list of transfers covers the options and lists of patterns.
    ResultCache cache({"what was measured", "slipstream tuned exchange 5"},
                      tuner_key(grid_, planned_, options_) + " transfers " + std::to_string(transfers_) + overlapped_,
                      how_);
    std::optional<Found> found;
    const auto read = [&](const std::string& lines) {
      found = found_from_lines(lines);
      return found.has_value();
    };
    cache.find(comm_, read, [&] {
      on_all_ranks(comm_, [&] {
        for (const int device : grid_.machine().devices_of_rank(grid_.rank())) {
          const Device local = grid_.machine().device(device).local;
          synchronize(local);  // the fields may still be written
          streams_.emplace_back(local);
          arenas_.push_back(comm_.arena(local));
        }
      });
      return spare_sums() ? to_lines(decide()) : std::string();
    });
    if (!found) return;
    result_.source = cache.measured() ? "measured" : "cache";
    result_.file = cache.file();
    result_.notes.insert(result_.notes.end(), cache.notes().begin(), cache.notes().end());
    result_.options.knobs = found->knobs;
    result_.options.chosen = found->chosen;
    result_.options.reasons = found->reasons;
  }

  const Communicator comm_;  // a candidate that fails ends alone
  const Grid& grid_;
  std::vector<ExchangeItem> items_;
  bool onto_itself_ = false;
  std::string bare_;  // a field that only its owner's kernels could fill
  ExchangeOptions options_;
  const TuneOptions& how_;
  const Once& once_;
  std::string overlapped_;  // name of the overlapped work; empty: none
  std::vector<PlannedItem> planned_;
  Times pairs_;                  // bytes of each pair's message
  std::uint64_t transfers_ = 0;  // hash of all ranks' transfers
  Times best_;
  double best_whole_ = never;
  std::deque<Field> zeros_;
  std::vector<Stream> streams_;
  std::vector<Arena> arenas_;  // keep memory for the next candidate
  std::vector<Candidate> candidates_;
  std::map<PairKey, std::string> reasons_;
  Problem too_large_;  // Overflow on this rank
  Tuning result_;
};

}  // namespace

void check_work(const Communicator& comm, const TuneOptions& how) {
  on_all_ranks(comm, [&] {
    require(!how.work || !how.work_name.empty(),
            "an exchange is to be tuned with work that has no name: what is measured is cached by work_name",
            {{"option", "work_name"}});
    require(how.work || how.work_name.empty(),
            "an exchange is to be tuned with '" + how.work_name + "', and no work is given", {{"option", "work"}});
  });
}

void run_overlapped(Exchange& exchange, std::vector<Stream>& streams,
                    const std::function<void(std::vector<Stream>&)>& work) {
  exchange.begin(streams);
  // Other ranks wait for end(), so an error of the work is thrown after it.
  const std::exception_ptr failed = [&]() -> std::exception_ptr {
    try {
      work(streams);
      return nullptr;
    } catch (...) {
      return std::current_exception();
    }
  }();
  exchange.end(streams);
  if (failed) std::rethrow_exception(failed);
}

Tuning tune(const Communicator& comm, const Grid& grid, const std::vector<ExchangeItem>& items,
            const ExchangeOptions& options, const TuneOptions& how) {
  return tune(comm, grid, items, options, how, [&](Exchange& exchange, std::vector<Stream>& streams) {
    if (how.work) {
      run_overlapped(exchange, streams, how.work);
    } else {
      exchange.run(streams);
    }
  });
}

Tuning tune(const Communicator& comm, const Grid& grid, const std::vector<ExchangeItem>& items,
            const ExchangeOptions& options, const TuneOptions& how, const Once& once) {
  Trace* const trace = options.trace;
  Tuning tuning = Tuner(comm, grid, items, options, how, once).run();
  tuning.options.trace = trace;
  tuning.options.poison = options.poison;
  return tuning;
}

}  // namespace slipstream
