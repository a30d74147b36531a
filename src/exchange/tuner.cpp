#include <slipstream/tuner.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <deque>
#include <exception>
#include <map>
#include <optional>

#include <slipstream/error.hpp>

#include "exchange/choices.hpp"
#include "exchange/message_classes.hpp"
#include "exchange/overlaps.hpp"
#include "exchange/plan.hpp"
#include "exchange/same_on_ranks.hpp"
#include "exchange/tuner_cache.hpp"
#include "exchange/tuner_candidates.hpp"
#include "exchange/tuning.hpp"
#include "machine/clock.hpp"
#include "machine/gpu_mpi.hpp"
#include "machine/hash.hpp"
#include "machine/private_communicator.hpp"
#include "machine/same_ranks.hpp"
#include "machine/sum.hpp"
#include "machine/timeout.hpp"

namespace slipstream {
namespace {

class Tuner {
 public:
  Tuner(const Communicator& comm, const Grid& grid, const std::vector<ExchangeItem>& items,
        const ExchangeOptions& options, const TuneOptions& how, const Once& once)
      : comm_(unshared(comm)), grid_(grid), items_(items), options_(options), how_(how), once_(once) {
    if (!how.work_name.empty()) overlapped_ = " overlapped with '" + how.work_name + "'";
    std::replace(overlapped_.begin(), overlapped_.end(), '\n', ' ');
    // Tuning also packs values that the caller's kernels store otherwise, because these kernels are not there.
    for (ExchangeItem& item : items_) {
      if (item.produced && item.source->options().later) bare_ = item.source->options().name;
      item.produced = false;
    }
    planned_ = planned(items_);
    result_.options = options;
    result_.source = "rules";
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
      Hash hash;  // hash of all tuning arguments that must be equal on all ranks; it differs from any exchange's hash
      hash.add(plan_hash(grid_, planned_, options_), how_.warm_ups, how_.trials,
               std::bit_cast<std::uint64_t>(how_.drop_factor), overlapped_);
      mine = hash.value();
    });
    require_same(comm_, mine, words, "exchanges", unplanned);
    check_work(comm_, how_);
    list_messages();
    if (worth_measuring()) find();
    result_.seconds = seconds_now() - start;
    return std::move(result_);
  }

 private:
  // Candidates: lists messages, fields and the allowed routes ------------------------------------------------------

  /// Lists the messages of this rank, and the classes of all ranks' messages.
  void list_messages() {
    Bundles bundles;
    bool onto_itself = false;
    on_all_ranks(comm_, [&] {
      bundles = bundle(grid_, planned_, grid_.rank());
      if (!bare_.empty()) return;
      leave_what_rests(grid_, items_, bundles);
      onto_itself = moved_onto_itself(grid_, items_, bundles);
    });
    onto_itself_ = !comm_.all(!onto_itself);
    std::uint64_t hash = 0;
    for (const auto& [key, b] : bundles.by_pair)
      if (grid_.machine().device(key.first).rank == grid_.rank())
        hash += transfers_hash(b) * (2 * static_cast<std::uint64_t>(key.first) + 1) +
                static_cast<std::uint64_t>(key.second);
    transfers_ = sum_over_ranks(comm_, hash);
    classes_ = MessageClasses(comm_, grid_, planned_, bundles);
  }

  bool worth_measuring() {
    if (!bare_.empty()) return follow_rules("field " + bare_ + " may have no arrays to measure with");
    if (onto_itself_) return follow_rules("a field is moved onto itself, and measuring would change it");
    return !classes_.all().empty();
  }
  bool follow_rules(const std::string& why) {
    result_.notes.push_back(why + ": the routes follow the rules");
    return false;
  }

  /// Measurements repeat exchanges, and an exchange that adds received values to a field would change it each time.
  /// Fields of zeros replace such fields meanwhile. Returns false if a rank lacks memory for them. Collective.
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
      return follow_rules("no room for zeros in place of what is combined (" + text_of(no_room) + ")");
    }
    for (ExchangeItem& item : items_)
      for (Field** field : {&item.source, &item.target})
        if (const auto found = spared.find(*field); found != spared.end()) *field = found->second;
    return true;
  }

  /// The allowed routes that serve each message class on all ranks, in the default order of preference. Collective.
  std::map<ClassNumber, std::vector<RouteKind>> serving() const {
    // Tests whether MPI can send device memory, as exchanges do before they choose a route, so that both refuse alike.
    const auto& allowed = options_.routes;
    std::vector<Device> devices;
    for (const Stream& stream : streams_) devices.push_back(stream.device());
    const bool asked =
        std::any_of(allowed.begin(), allowed.end(), [](RouteKind kind) { return traits_of(kind).device_memory; });
    const Pairs pairs(grid_.machine(), planned_, asked ? prove_gpu_mpi(comm_, devices) : "");
    std::map<ClassNumber, std::vector<RouteKind>> found;
    for (const auto& [number, one] : classes_.all()) {
      std::uint64_t refused = 0;
      for (const RouteKind kind : all_routes())
        for (const PairKey& key : one.mine)
          if (!refusal(kind, pairs.of(key.first, key.second), options_).empty()) refused |= bit(kind);
      refused = comm_.any(refused);
      for (const RouteKind kind : all_routes())
        if (std::find(allowed.begin(), allowed.end(), kind) != allowed.end() && !(refused & bit(kind)))
          found[number].push_back(kind);
    }
    return found;
  }
  static std::uint64_t bit(RouteKind kind) { return std::uint64_t{1} << static_cast<int>(kind); }

  void list_candidates(const std::map<ClassNumber, std::vector<RouteKind>>& serving) {
    candidates_.push_back({"rules", {}, options_.knobs, {}});
    std::map<RouteKind, std::map<ClassNumber, RouteKind>> served;
    std::map<RouteKind, double> largest;
    for (const auto& [number, kinds] : serving)
      for (const RouteKind kind : kinds) {
        served[kind][number] = kind;
        largest[kind] = std::max(largest[kind], classes_.all().at(number).largest);
      }
    const Tried tried{grid_, items_, options_, comm_.size() > 1};
    for (const auto& [kind, chosen] : served)
      for (const auto& [name, knobs] : variants(tried, kind, largest[kind]))
        candidates_.push_back({to_string(kind) + name, kind, knobs, chosen});
  }

  /// Maps each message (pair of devices) of this rank to the setting chosen for its class of similar messages.
  template <class Value>
  std::map<PairKey, Value> by_pair(const std::map<ClassNumber, Value>& by_class) const {
    std::map<PairKey, Value> found;
    for (const auto& [number, value] : by_class)
      if (const auto one = classes_.all().find(number); one != classes_.all().end())
        for (const PairKey& key : one->second.mine) found[key] = value;
    return found;
  }

  // Measuring: times each candidate with the messages of the exchange ----------------------------------------------

  /// The time of the slowest message of each class, over all ranks. Collective.
  std::map<ClassNumber, double> slowest(const Exchange& exchange, const std::vector<double>& best) const {
    std::map<ClassNumber, double> mine;
    for (std::size_t m = 0; m < best.size(); ++m) {
      const MessageInfo& message = exchange.messages()[m];
      if (message.source == message.target || !std::isfinite(best[m])) continue;
      double& slowest = mine.try_emplace(classes_.of({message.source, message.target}), 0.0).first->second;
      slowest = std::max(slowest, best[m]);
    }
    return classes_.largest(comm_, mine);
  }

  /// Runs `work`. Keeps the error if a value overflows its coding, because that is no fault of the measured route.
  template <class Work>
  auto watched(const Work& work) {
    try {
      return work();
    } catch (const Overflow& overflow) {
      too_large_ = overflow;
      throw;
    }
  }

  /// Whether no rank failed. If one did, drops the candidate with a note. Throws Overflow on all ranks if some rank met
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

  void measure(Candidate& candidate) {
    ExchangeOptions options = options_;
    options.knobs = candidate.knobs;
    options.chosen = by_pair(candidate.chosen);
    options.measure_errors = false;
    std::optional<Exchange> exchange;
    const auto make = [&] {
      exchange.emplace(comm_, grid_, items_, options);
      for (const MessageInfo& m : exchange->messages())
        if (const auto asked = options.chosen.find({m.source, m.target}); asked != options.chosen.end())
          require(asked->second == m.route, ErrorCode::unavailable,
                  "the message from device " + std::to_string(m.source) + " to device " + std::to_string(m.target) +
                      " took the route " + to_string(m.route) + " (" + m.reason + ")");
    };
    if (!goes_on(candidate, failure_of(make))) return;
    std::vector<double> best(exchange->messages().size(), never);
    const auto once = [&] { once_(*exchange, streams_); };
    const auto timed = [&] {
      const double start = seconds_now();
      once();
      for (Stream& stream : streams_) stream.synchronize();
      const double taken = seconds_now() - start;
      const std::vector<double> times = exchange->arrival_us();
      for (std::size_t m = 0; m < times.size(); ++m)
        if (times[m] >= 0) best[m] = std::min(best[m], times[m]);
      return taken;
    };
    const auto note = [&](double seconds) {
      candidate.times = slowest(*exchange, best);
      candidate.whole = std::min(candidate.whole, 1e6 * seconds);
    };
    const auto is_hopeless = [&](double first) {
      note(first);
      return hopeless(candidate);
    };
    const Trials found =
        slipstream::measure(comm_, how_, {[&] { return watched(timed); }, [&] { watched(once); }, is_hopeless});
    if (!goes_on(candidate, found.failure)) return;
    note(found.seconds);
    candidate.measured = true;
    best_whole_ = std::min(best_whole_, candidate.whole);
    for (const auto& [key, time] : candidate.times) {
      double& best_time = best_.try_emplace(key, never).first->second;
      best_time = std::min(best_time, time);
    }
  }

  /// Whether a candidate is too slow for more trials. All ranks have the same times and return the same.
  bool hopeless(const Candidate& candidate) const {
    if (best_.empty()) return false;
    if (overlaps()) return candidate.whole > how_.drop_factor * best_whole_;
    return std::all_of(candidate.times.begin(), candidate.times.end(), [&](const auto& time) {
      const auto best = best_.find(time.first);
      return best != best_.end() && time.second >= how_.drop_factor * best->second;
    });
  }

  // Deciding: takes the fastest candidate, or combines the fastest route of each class of messages -----------------

  /// Whether the caller's other work overlaps with the messages. Single message times are then meaningless.
  bool overlaps() const { return !overlapped_.empty(); }

  /// Chooses routes by the measured times. All ranks compare the same numbers and choose the same.
  Found decide() {
    const std::map<ClassNumber, std::vector<RouteKind>> serves = serving();
    list_candidates(serves);
    for (Candidate& candidate : candidates_) measure(candidate);
    // The default routes were measured first, on idle devices and links. A second measurement may give a better time.
    if (candidates_.front().measured) measure(candidates_.front());
    const Mixture best_mixture = mixture_of(candidates_, classes_, options_.knobs, overlaps());
    Candidate mixed = best_mixture.candidate;
    if (std::none_of(candidates_.begin(), candidates_.end(), [&](const Candidate& c) {
          return c.measured && c.route && c.chosen == mixed.chosen && c.knobs == mixed.knobs;
        })) {
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
    for (const auto& [key, kinds] : serves) {
      const auto given = best->chosen.find(key);
      found.chosen[key] = given != best->chosen.end() ? given->second : kinds.front();
      const auto known = best_mixture.reasons.find(key);
      std::string reason = known != best_mixture.reasons.end() ? known->second : "measured";
      const auto fastest = mixed.chosen.find(key);
      if (fastest == mixed.chosen.end() || fastest->second != found.chosen[key])
        reason += "; the exchange" + (overlaps() ? overlapped_ : " as a whole") + " is fastest with " + best->name +
                  " (" + microseconds(best->whole) + ")";
      found.reasons[key] = reason;
    }
    return found;
  }

  // Cache: reads an earlier result from disk, or measures and writes it --------------------------------------------

  void find() {
    // The cache key of a tuned exchange holds a hash of all transfers, as these depend on every option of its halos.
    ResultCache cache({"what was measured", "slipstream tuned exchange 6"},
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
          synchronize(local);  // queued work may still write the fields that are freed next
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
    result_.options.chosen = by_pair(found->chosen);
    result_.options.reasons = by_pair(found->reasons);
  }

  const Communicator comm_;  // own communicator: a failed candidate affects no other object
  const Grid& grid_;
  std::vector<ExchangeItem> items_;
  bool onto_itself_ = false;
  std::string bare_;  // name of a field that may have no arrays yet: the caller's kernels will store its values
  ExchangeOptions options_;
  const TuneOptions& how_;
  const Once& once_;
  std::string overlapped_;  // name of the caller's overlapped work; empty: none
  std::vector<PlannedItem> planned_;
  MessageClasses classes_;
  std::uint64_t transfers_ = 0;  // hash of all ranks' transfers
  std::map<ClassNumber, double> best_;
  double best_whole_ = never;
  std::deque<Field> zeros_;
  std::vector<Stream> streams_;
  std::vector<Arena> arenas_;  // arenas that keep device memory between candidates
  std::vector<Candidate> candidates_;
  Problem too_large_;  // error of a value too large for its coding, on this rank
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
  // Other ranks wait for end(), so an error in the caller's overlapped work is thrown after it.
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
  return Tuner(comm, grid, items, options, how, once).run();
}

}  // namespace slipstream
