#pragma once
// Work recorded as graphs.
#include <vector>

#include <slipstream/error.hpp>
#include <slipstream/stream.hpp>

namespace slipstream {

/// Records the work that `work` queues on the streams, a graph each; nothing of it runs. Where it throws, no stream
/// records any more.
template <class Work>
std::vector<Graph> record_graphs(std::vector<Stream>& streams, const Work& work) {
  std::vector<Graph> graphs;
  try {
    for (Stream& stream : streams) stream.begin_capture();
    work();
    for (Stream& stream : streams) graphs.push_back(stream.end_capture());
  } catch (...) {
    for (Stream& stream : streams) {
      try {
        if (stream.capturing()) stream.end_capture();
      } catch (const Error&) {
        // It has ended all the same; why it had to is told instead.
      }
    }
    throw;
  }
  return graphs;
}

}  // namespace slipstream
