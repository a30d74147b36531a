#pragma once
// Records queued work as graphs, which replay it.
#include <vector>

#include <slipstream/error.hpp>
#include <slipstream/stream.hpp>

namespace slipstream {

/// Records the work that `work` queues on the streams as one graph per stream; none of it runs. If it throws, all
/// captures are ended.
template <class Work>
std::vector<Graph> record_graphs(const std::vector<Stream*>& streams, const Work& work) {
  std::vector<Graph> graphs;
  try {
    for (Stream* stream : streams) stream->begin_capture();
    work();
    for (Stream* stream : streams) graphs.push_back(stream->end_capture());
  } catch (...) {
    for (Stream* stream : streams) {
      try {
        if (stream->capturing()) stream->end_capture();
      } catch (const Error&) {
        // The capture has ended anyway. The error of the work is rethrown below.
      }
    }
    throw;
  }
  return graphs;
}

template <class Work>
std::vector<Graph> record_graphs(std::vector<Stream>& streams, const Work& work) {
  std::vector<Stream*> all;
  for (Stream& stream : streams) all.push_back(&stream);
  return record_graphs(all, work);
}

}  // namespace slipstream
