// Exchanges whose values the caller's kernels store: the windows that they get, and the time in which these are open.
#include <algorithm>

#include <slipstream/error.hpp>
#include <slipstream/trace.hpp>

#include "device/upload.hpp"
#include "exchange/impl.hpp"

namespace slipstream {

/// By item, then by block in the order of Grid::local(), then by component.
void Exchange::Impl::make_windows(Side& side) {
  const std::vector<std::int64_t>& local = grid.local();
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!items[i].produced) continue;
    const int components = planned[i].source.components;
    const auto place = [&](const Window& w) {
      const auto block = std::lower_bound(local.begin(), local.end(), w.block) - local.begin();
      return static_cast<std::size_t>(block) * static_cast<std::size_t>(components) +
             static_cast<std::size_t>(w.component);
    };
    ProducedWindows& made = side.windows[i];
    for (const auto& sender : side.senders)
      for (const Window& w : sender->windows)
        if (w.item == static_cast<int>(i)) made.list.push_back(w);
    std::stable_sort(made.list.begin(), made.list.end(),
                     [&](const Window& a, const Window& b) { return place(a) < place(b); });
    std::vector<std::int32_t> first(local.size() * static_cast<std::size_t>(components) + 1, 0);
    for (Window& w : made.list) {
      ++first[place(w) + 1];
      if (w.array >= 0)
        w.base -= reinterpret_cast<std::intptr_t>(side.arrays.planned[static_cast<std::size_t>(w.array)]);
    }
    for (std::size_t n = 1; n < first.size(); ++n) first[n] += first[n - 1];
    in_room_for("the windows of what is produced", side, [&] {
      made.table = upload(side.device, made.list);
      made.first = upload(side.device, first);
    });
  }
}

/// One team that says which places are open here, then waits for those that the caller's kernels will store into.
void Exchange::Impl::make_opening(Side& side, const Batch& opened) {
  Batch waits;
  for (std::size_t s = 0; s < side.senders.size(); ++s) {
    if (!channels[side.sent[s]].message.produced) continue;
    for (const Batch& batch : side.senders[s]->batches)
      waits.before.insert(waits.before.end(), batch.before.begin(), batch.before.end());
  }
  std::vector<Scheduled> both{{&opened, 0, 0, 0}};
  if (!waits.before.empty()) both.push_back({&waits, 1, 1, 0});
  in_room_for("the tables of the launches", side, [&] { side.opening = Program(side.device, both, nullptr, 1); });
}

void Exchange::Impl::require_unproduced(const char* what) const {
  if (produces)
    throw Error(ErrorCode::wrong_state,
                std::string("an exchange of values that the caller's kernels store was given to ") + what +
                    "(), which would send what nobody has stored: call open(), the kernels, post() and end()",
                {{"problem", "produced"}, {"call", what}});
}

void Exchange::Impl::open_windows(std::vector<Stream>& streams) {
  const HostSpan span(options.trace, "open");
  if (!produces)
    throw Error(ErrorCode::wrong_state,
                "an exchange was opened of which no item is produced: call begin(), or set ExchangeItem::produced",
                {{"problem", "not_produced"}});
  start(streams);
  opened = true;
  for (std::size_t i = 0; i < sides.size(); ++i) {
    Side& side = *sides[i];
    streams[i].record(side.before);
    side.stream.wait(side.before);
    for (auto& receiver : side.receivers) receiver->post(side.stream, sequence);
    if (options.poison) poison(side, side.stream);
    {
      const DeviceSpan waiting(options.trace, side.stream, "exchange", "open", "wait");
      side.opening.run(side.stream, pulse(side), true);
    }
    if (side.produced) side.produced->fill(side.stream, side.broken());
    side.stream.record(side.after);
    streams[i].wait(side.after);
  }
}

void Exchange::Impl::post(std::vector<Stream>& streams) {
  const HostSpan span(options.trace, "post");
  if (!opened)
    throw Error(ErrorCode::wrong_state, "an exchange was posted that was not opened", {{"problem", "not_opened"}});
  check_streams(streams);
  opened = false;
  open = true;
  if (host_driven) driven.open();
  send_all(streams, false);
}

Exchange::WindowTable Exchange::window_table(std::size_t item, Device device, DType type) const {
  const Impl& impl = *impl_;
  if (!impl.opened)
    throw Error(ErrorCode::wrong_state, "windows of an exchange were asked for that is not open: call open() first",
                {{"problem", "not_opened"}});
  const std::vector<Window>& list = window_list(item, device);
  const FieldOptions& source = impl.planned[item].source;
  if (type != source.type)
    throw Error(ErrorCode::mismatch,
                "windows of " + to_string(type) + " were asked for, and field " + source.name +
                    ", whose values they take, holds " + to_string(source.type),
                {{"field", source.name}, {"given", to_string(type)}, {"needed", to_string(source.type)}});
  for (const auto& side : impl.sides) {
    if (side->device != device) continue;
    const ProducedWindows& made = side->windows.at(item);
    const bool named = std::any_of(list.begin(), list.end(), [](const Window& w) { return w.array >= 0; });
    return {made.table.data(), made.first.data(), source.components, named ? side->arrays.on_device() : nullptr,
            side->broken()};
  }
  throw Error(ErrorCode::not_found, to_string(device) + " does not belong to this rank of the exchange");
}

const std::vector<Window>& Exchange::window_list(std::size_t item, Device device) const {
  if (!(item < impl_->items.size() && impl_->items[item].produced))
    throw Error(
        ErrorCode::not_found,
        "item " + std::to_string(item) + " of an exchange has no windows: set ExchangeItem::produced when it is made",
        {{"item", item}});
  for (const auto& side : impl_->sides)
    if (side->device == device) return side->windows.at(item).list;
  throw Error(ErrorCode::not_found, to_string(device) + " does not belong to this rank of the exchange");
}

void Exchange::open(std::vector<Stream>& streams) { impl_->open_windows(streams); }
void Exchange::post(std::vector<Stream>& streams) { impl_->post(streams); }

}  // namespace slipstream
