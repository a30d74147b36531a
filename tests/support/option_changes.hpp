#pragma once
// Options of an exchange on which its messages depend, and a change of each.
#include <functional>
#include <string>
#include <vector>

#include <slipstream/exchange.hpp>

namespace slipstream {

/// All arguments that an exchange is made from.
struct Asked {
  FieldOptions field;
  ExchangeOptions options;
  bool rebinds = false;
  Coding coding = {};
};

struct Change {
  std::string name;
  std::function<void(Asked&)> make;
};

inline const std::vector<Change>& changes() {
  static const std::vector<Change> all{
      {"pack", [](Asked& a) { a.options.knobs.pack = Pack::per_direction; }},
      {"streams", [](Asked& a) { a.options.knobs.streams = Lanes::one; }},
      {"grouping", [](Asked& a) { a.options.knobs.grouping = Grouping::nodes; }},
      {"mpi", [](Asked& a) { a.options.knobs.mpi = MpiCalls::alltoallv; }},
      {"sync", [](Asked& a) { a.options.knobs.sync = true; }},
      {"in_place", [](Asked& a) { a.options.knobs.in_place = 0; }},
      {"packet_limit", [](Asked& a) { a.options.knobs.packet_limit = 0; }},
      {"chunk", [](Asked& a) { a.options.knobs.chunk = 256; }},
      {"ring", [](Asked& a) { a.options.knobs.ring = 1024; }},
      {"routes",
       [](Asked& a) {
         a.options.routes = {RouteKind::kernel, RouteKind::staged};
       }},
      {"throttle", [](Asked& a) { a.options.throttle = throttle_from_string("1GB/s"); }},
      {"measure_errors", [](Asked& a) { a.options.measure_errors = true; }},
      {"poison", [](Asked& a) { a.options.poison = true; }},
      {"rebinds", [](Asked& a) { a.rebinds = true; }},
      {"coding", [](Asked& a) { a.coding = coding_from_string("cast"); }},
      {"type", [](Asked& a) { a.field.type = DType::i64; }},
      {"layout", [](Asked& a) { a.field.layout = Layout::aos; }},
      {"ghost",
       [](Asked& a) {
         a.field.ghost = {2, 1, 1};
       }},
      {"alignment", [](Asked& a) { a.field.alignment = 8; }},
      {"padding",
       [](Asked& a) {
         a.field.padding = {0, 1, 0};
       }},
      {"copies", [](Asked& a) { a.field.copies = 2; }},
      {"shared", [](Asked& a) { a.field.shared = false; }},
  };
  return all;
}

}  // namespace slipstream
