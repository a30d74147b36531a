#pragma once
#include <slipstream/stream.hpp>  // declares Graph, which Stream::end_capture returns
