// One rank's plan on a described machine: the set-up cost of one rank of thousands, without running the others.
#include <malloc.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <numeric>
#include <optional>
#include <thread>

#include <slipstream/error.hpp>
#include <slipstream/pattern.hpp>
#include <slipstream/transpose.hpp>

#include "exchange/plan.hpp"
#include "gather_scatter/copies.hpp"
#include "gather_scatter/sorted_points.hpp"
#include "machine/agree.hpp"
#include "native/python_bench.hpp"

namespace slipstream::python {
namespace {

/// Bytes of memory in use on the heaps of all threads.
std::int64_t held() {
  // The C library writes its statistics to a file, because memory for the text would be counted.
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), &std::fclose);
  require(file != nullptr, ErrorCode::unavailable, "no temporary file could be opened");
  malloc_info(0, file.get());
  std::string text(static_cast<std::size_t>(std::ftell(file.get())), '\0');
  std::rewind(file.get());
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  const auto total = [&](const std::string& type) {
    const std::size_t at = text.find("size=\"", text.find("type=\"" + type, text.rfind("</heap>")));
    return std::stoll(text.substr(at + 6));
  };
  return total("current") + total("mmap") - total("fast") - total("rest");
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// Describes nodes of eight devices with one rank each, connected by NVLink within a node and by a network between
/// nodes.
Machine simulated(int ranks) {
  constexpr int of_node = 8;
  std::vector<MachineDevice> devices;
  for (int rank = 0; rank < ranks; ++rank)
    devices.push_back({rank / of_node,
                       rank,
                       {Backend::cuda, 0},
                       "simulated",
                       std::to_string(rank),
                       std::int64_t{80} << 30,
                       3000,
                       false});
  Links links;
  links.kind.assign(static_cast<std::size_t>(ranks / of_node), 0);
  LinkTable& node = links.within.emplace_back(LinkTable{of_node, {}});
  for (int from = 0; from < of_node; ++from)
    for (int to = 0; to < of_node; ++to)
      node.links.push_back(from == to ? Link{LinkKind::same, 1500, true} : Link{LinkKind::nvlink, 450, true});
  links.between = {1, {{LinkKind::network, 50, false}}};
  links.group.assign(static_cast<std::size_t>(ranks), 0);
  return {"simulated", std::move(devices), std::move(links)};
}

/// Cuts a box of cells into one box per rank, x fastest.
GridOptions boxes(const Extent& cells, const Extent& counts) {
  GridOptions options;
  options.periodic = {true, true, true};
  for (std::int64_t z = 0; z < counts[2]; ++z)
    for (std::int64_t y = 0; y < counts[1]; ++y)
      for (std::int64_t x = 0; x < counts[0]; ++x) {
        Block block;
        block.box = piece({{0, 0, 0}, cells}, counts, {x, y, z});
        block.device = static_cast<int>(options.boxes.size());
        options.boxes.push_back(block);
      }
  return options;
}

/// Pattern in which devices that share points exchange their values, as one contiguous range in each direction.
class Stretches final : public Pattern {
 public:
  explicit Stretches(const Copies& copies) : copies_(copies) {}
  std::string name() const override { return "gather-scatter"; }
  std::vector<Transfer> transfers(const Grid&, int, const Extent&, int) const override {
    std::vector<Transfer> found;
    const auto list = [&](std::int64_t source, std::int64_t target, std::int64_t count) {
      const IndexSet values{{{0, 0, 0}, {count, 1, 1}}, {0}, nullptr};
      found.push_back({source, target, values, values, Op::copy});
    };
    for (const MailboxShare& mail : copies_.mailbox.mail) {
      list(copies_.device, mail.device, mail.outgoing_count);
      list(mail.device, copies_.device, mail.incoming_count);
    }
    return found;
  }

 private:
  const Copies& copies_;
};

/// Points of a box of cubic elements with `of_rank` elements per axis on every rank, numbered by position in the whole
/// box.
class Elements {
 public:
  static constexpr std::int64_t of_rank = 8, order = 7, points = order + 1;
  Elements(const Extent& counts, int rank) : counts_(counts), rank_(rank) {}

  std::vector<std::int64_t> ids(int rank) const {
    std::vector<std::int64_t> found;
    const Extent first = first_element(rank);
    for (std::int64_t e = 0; e < of_rank * of_rank * of_rank; ++e)
      for (std::int64_t p = 0; p < points * points * points; ++p) {
        Extent at{};
        for (std::int64_t a = 0, n = e, q = p; a < 3; ++a, n /= of_rank, q /= points)
          at[a] = (first[a] + n % of_rank) * order + q % points;
        found.push_back(id(at));
      }
    return found;
  }

  /// Smallest and largest id of points on a rank, which lie at its low and high corner.
  Range range(int rank) const {
    const Extent low = first_element(rank);
    return {id({low[0] * order, low[1] * order, low[2] * order}),
            id({(low[0] + of_rank) * order, (low[1] + of_rank) * order, (low[2] + of_rank) * order})};
  }

  /// Lists all elements at points that this rank shares with others, as the discovery of shared points would find them.
  std::vector<Holder> holders() const {
    const Extent low = first_element(rank_);
    std::vector<Holder> found;
    Extent at{};
    for (at[2] = low[2] * order; at[2] <= (low[2] + of_rank) * order; ++at[2])
      for (at[1] = low[1] * order; at[1] <= (low[1] + of_rank) * order; ++at[1])
        for (at[0] = low[0] * order; at[0] <= (low[0] + of_rank) * order; ++at[0]) {
          std::vector<Holder> here = at_point(at);
          const auto other = [&](const Holder& holder) { return holder.device != rank_; };
          if (std::any_of(here.begin(), here.end(), other)) found.insert(found.end(), here.begin(), here.end());
        }
    std::sort(found.begin(), found.end());
    return found;
  }
  static std::int64_t blocks() { return of_rank * of_rank * of_rank; }

 private:
  std::int64_t id(const Extent& at) const {
    const auto wide = [&](int a) { return counts_[a] * of_rank * order + 1; };
    return 1 + at[0] + wide(0) * (at[1] + wide(1) * at[2]);
  }
  Extent first_element(int rank) const {
    return {rank % counts_[0] * of_rank, rank / counts_[0] % counts_[1] * of_rank,
            rank / counts_[0] / counts_[1] * of_rank};
  }
  std::vector<Holder> at_point(const Extent& at) const {
    std::array<std::vector<std::int64_t>, 3> touching;
    for (int a = 0; a < 3; ++a)
      for (std::int64_t e = (at[a] - 1 + order) / order - 1; e <= at[a] / order; ++e)
        if (e >= 0 && e < counts_[a] * of_rank) touching[a].push_back(e);
    std::vector<Holder> found;
    for (const std::int64_t z : touching[2])
      for (const std::int64_t y : touching[1])
        for (const std::int64_t x : touching[0]) {
          const std::int64_t device = x / of_rank + counts_[0] * (y / of_rank + counts_[1] * (z / of_rank));
          const std::int64_t element = x % of_rank + of_rank * (y % of_rank + of_rank * (z % of_rank));
          found.push_back({id(at), device * blocks() + element, device});
        }
    return found;
  }

  Extent counts_;
  int rank_;
};

struct Costs {
  std::int64_t machine = 0, grid = 0, plan = 0;
  double machine_s = 0, grid_s = 0, plan_s = 0;
  std::size_t messages = 0;
};

/// Memory and time of a constructor, run in a thread of its own: memory that a thread has freed counts until it ends.
template <class Make>
auto counted(std::int64_t& bytes, double& seconds, const Make& make) {
  std::optional<decltype(make())> made;
  const std::int64_t before = held();
  Problem failure;
  std::thread([&] {
    const double start = now();
    failure = failure_of([&] { made.emplace(make()); });
    seconds = now() - start;
  }).join();
  bytes = held() - before;
  throw_if(failure);
  return std::move(*made);
}

Costs costs_of(const std::string& pattern, int ranks) {
  require(ranks >= 8 && ranks % 8 == 0, "a simulated machine has nodes of 8 ranks", {{"given", ranks}});
  Costs costs;
  const auto machine = counted(costs.machine, costs.machine_s, [&] { return simulated(ranks); });
  const int rank = ranks / 2;  // this rank lies on an edge of the Cartesian process grid
  FieldOptions field;
  field.name = "u";
  field.shared = true;
  const auto plan = [&](const Grid& grid, const Pattern& of) {
    const auto made = counted(costs.plan, costs.plan_s, [&] {
      auto plan = std::make_unique<Plan>(grid, std::vector<PlannedItem>{{&of, field}}, ExchangeOptions{});
      plan->list_transfers();
      plan->choose_routes(false, "not asked for");
      return plan;
    });
    costs.messages = made->messages.size();
  };
  const auto grid_of = [&](const Extent& whole, const Extent& counts) {
    return std::make_unique<Grid>(whole, machine, rank, boxes(whole, counts));
  };
  // All ranks get the same number of cells, for any number of ranks, so that all machines have messages of one size.
  const Extent bricks = bisect({1 << 14, 1 << 14, 1 << 14}, ranks);
  Extent cells = bricks;
  for (std::int64_t& n : cells) n *= 256;
  if (pattern == "halo") {
    const auto grid = counted(costs.grid, costs.grid_s, [&] { return grid_of(cells, bricks); });
    field.ghost = {1, 1, 1};
    plan(*grid, Halo({}));
  } else if (pattern == "transpose") {
    const Extent pencils = bisect({1, cells[1], cells[2]}, ranks);
    const auto grids = counted(costs.grid, costs.grid_s, [&] {
      return std::pair(grid_of(cells, pencils), grid_of(cells, {pencils[1], 1, pencils[2]}));
    });
    plan(*grids.first, Transpose(*grids.first, *grids.second));
  } else {
    require(pattern == "gather_scatter", "unknown pattern '" + pattern + "'", {{"given", pattern}});
    const Elements elements(bricks, rank);
    const std::vector<std::int64_t> ids = elements.ids(rank);
    const std::int64_t points = Elements::points * Elements::points * Elements::points;
    const SharedPoints mine{ids, rank * Elements::blocks(), points};
    const std::vector<Holder> holders = elements.holders();
    std::vector<Range> others;
    for (int other = 0; other < ranks; ++other)
      if (other != rank) others.push_back(elements.range(other));
    std::int64_t lists = 0, rest = 0;
    double lists_s = 0;
    const auto copies = counted(lists, lists_s, [&] {
      SortedPoints sorted(Device{}, mine);
      const Points asked = sorted.in(others);
      return std::make_unique<Copies>(copies_of(rank, mine, sorted, asked, holders, false, false));
    });
    const auto grid = counted(rest, costs.grid_s, [&] {
      const std::int64_t row = copies->mailbox.size;
      return grid_of({row * ranks, 1, 1}, {ranks, 1, 1});
    });
    costs.grid = rest;
    plan(*grid, Stretches(*copies));
    costs.plan += lists;
    costs.plan_s += lists_s;
  }
  return costs;
}

nb::dict setup_costs(const std::string& pattern, int ranks) {
  Costs costs;
  {
    const Released released;
    costs = costs_of(pattern, ranks);
  }
  nb::dict found;
  found["messages"] = costs.messages;
  found["machine_bytes"] = costs.machine;
  found["grid_bytes"] = costs.grid;
  found["plan_bytes"] = costs.plan;
  found["machine_s"] = costs.machine_s;
  found["grid_s"] = costs.grid_s;
  found["plan_s"] = costs.plan_s;
  return found;
}

}  // namespace

void bind_bench_setup(nb::module_& m) {
  m.def("setup_costs", &setup_costs, nb::arg("pattern"), nb::arg("ranks"),
        "Bytes of the heap and seconds of one rank's plan on a simulated machine. `pattern`: halo, gather_scatter or "
        "transpose.");
}

}  // namespace slipstream::python
