#pragma once
#include <slipstream/stream.hpp>  // a Graph is what Stream::end_capture returns
