#include <nanobind/stl/array.h>

#include "api/exchange/python_report.hpp"
#include "api/fft/python_fft.hpp"
#include "api/reading.hpp"

namespace slipstream::python {

FftOptions fft_options(const nb::dict& dict) {
  FftOptions options;
  std::string type = "c128";
  nb::dict exchange;
  Reader reader(dict, "a Fourier transform");
  reader.read("type", type);
  reader.read("process_grid", options.process_grid);
  reader.read("tune_process_grid", options.tune_process_grid);
  reader.read("transposed", options.transposed);
  reader.read("highest", options.highest);
  reader.read("scaled", options.scaled);
  reader.read("overlap", options.overlap);
  reader.read("parts", options.parts);
  reader.read("verify", options.verify);
  std::string coding = "raw";
  reader.read("coding", coding);
  options.coding = coding_from_string(coding);
  reader.read("store", options.store);
  std::string host_copies = "measured";
  reader.read("device_memory", options.device_memory);
  reader.read("host_copies", host_copies);
  options.host_copies = row_copies_from_string(host_copies);
  reader.read("synchronous", options.synchronous);
  reader.read("exchange", exchange);
  reader.finish();
  options.type = dtype_from_string(type);
  Watched watched;
  options.exchange = exchange_options(exchange, &watched);
  options.tune = watched.tune;
  options.tuner_cache = watched.tuner_cache;
  return options;
}

}  // namespace slipstream::python
