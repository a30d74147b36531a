#pragma once
// A plan: the steps of a transform each way, and what they work in.
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <slipstream/buffer.hpp>
#include <slipstream/fft.hpp>
#include <slipstream/transpose.hpp>

#include <slipstream/fft/modes.hpp>

#include "exchange/calls_in_order.hpp"
#include "exchange/same_calls.hpp"
#include "fft/decomposition.hpp"
#include "fft/lines.hpp"
#include "fft/out_of_core.hpp"
#include "fft/stores.hpp"

namespace slipstream {
namespace fft {

/// The arrays that a step reads or writes: the plan's own two, and the caller's.
enum class Array : std::uint8_t { first, second, from, to };

/// One entry for each device of the rank, null where it has nothing to do.
using LinesOfDevices = std::vector<std::unique_ptr<Lines>>;

/// The lines of a device, and its block's extent.
struct Batch {
  LineBatch lines;
  Extent block{};
};

/// Some planes of a move, or some modes k_x of one that is stored, with their lines: each device's begin at these bytes
/// of the arrays. `stored` as in Move.
struct Part {
  std::unique_ptr<Transpose> pattern;
  std::unique_ptr<Exchange> exchange;
  std::vector<std::unique_ptr<StoredLines>> stored;
  LinesOfDevices lines;
  std::vector<std::array<std::int64_t, 2>> begin;
};

/// Between two transforms: a transpose between the two work arrays. Where `stored` of its parts has entries, the
/// transform before the move is a part of it: it reads `before`, works in the source's array and stores into the
/// target's place. There is one entry for each device of the rank, null where it has nothing. Where there are several
/// parts, their lines are a part of the move: those before it of a forward transform, those behind it of a backward
/// one, between the arrays `lines`.
struct Move {
  std::optional<Stage> clears;  ///< what does not travel must be zero at the target, which is of this stage
  std::unique_ptr<Field> source, target;
  std::vector<Part> parts;  ///< one, or several
  Array before{};
  std::array<Array, 2> lines{};
  bool behind = false;

  Exchange& whole() const { return *parts.at(0).exchange; }
  bool is_stored() const { return !parts.at(0).stored.empty(); }
  bool awaits_lines() const { return behind && parts.at(0).lines.empty(); }
};

struct Step {
  Array from{}, to{};
  LinesOfDevices lines;
  std::vector<Batch> batches;  ///< of the lines; count 0: none
  std::optional<Move> move;    ///< neither: values are copied
};

/// Two work arrays a device and the steps that use them: what one component needs on its way.
struct Lane {
  std::vector<std::array<Buffer<std::byte>, 2>> work;  ///< by device
  std::vector<Step> forward, backward;
  /// On one device: the first step of `backward` by kernels that take an operation on modes, where there are such.
  LinesOfDevices through;
};

/// Where an operation on modes is done.
enum class Applied : std::uint8_t {
  storing,  ///< by the last lines of the forward transform
  copying,  ///< by the copy that leaves their order
  reading,  ///< by the first lines of the backward one
  apart     ///< in a pass of its own between both
};
using Operations = std::vector<Operation>;  ///< by device

/// Operations on what a forward transform leaves, or on what a backward one reads.
struct With {
  const Operations* leaves = nullptr;
  const Operations* reads = nullptr;
  double factor = 1;  ///< of what a backward transform by batches leaves
};

/// Whether results may be stored: what is coded must be packed.
bool stores(const FftOptions& options);
/// Throws Error on all ranks where transforms of random values are wrong. Collective.
void verify(const Communicator& comm, const Machine& machine, Fft& fft, const FftOptions& options);

/// A field whose rows lie without gaps.
FieldOptions packed(const std::string& name, DType type);

}  // namespace fft

struct Fft::Impl {
  Communicator comm;
  Machine machine;
  FftOptions options;
  fft::Decomposition cut;
  std::vector<int> devices;  // of this rank
  std::vector<Device> local;
  std::unique_ptr<Grid> physical;                // of cells
  std::array<std::unique_ptr<Grid>, 4> grids;    // of modes, by stage
  std::vector<Buffer<std::byte>> workspace;      // by device
  std::vector<fft::Lane> lanes;                  // two where components overlap
  std::unique_ptr<fft::OutOfCore> out_of_core;   // of values in host memory: lanes have no steps then
  std::vector<Stream> beside;                    // by device: of lines in parts, while others travel
  std::vector<Event> reached;                    // by device: where streams meet
  CallsInOrder in_order{"a Fourier transform"};  // all calls have the same work arrays
  Tuning tuning;                                 // of all moves together
  FftProcessGrids grids_tried;
  std::optional<SameCalls> same_calls;  // of several ranks
  std::vector<ExchangeOptions> tuned;  // of the first lane's moves that are packed, in the order in which they are made

  Impl(const Communicator& comm, const Machine& machine, const Extent& cells, FftOptions options);
  ~Impl();

  const Grid& grid(fft::Stage stage) const { return *grids[static_cast<std::size_t>(stage)]; }
  fft::Stage last_stage() const { return cut.transposed ? fft::Stage::spectral : fft::Stage::natural; }
  /// The position of a device of this rank.
  std::size_t place_of(int device) const;

  using Sources = std::vector<std::vector<const void*>>;  // by component, then by device
  using Targets = std::vector<std::vector<void*>>;
  void run(bool forward, const Sources& from, const Targets& to, std::vector<Stream>& streams,
           const fft::With& with = {});
  void convolve(const Sources& from, const Targets& through, const Targets& to, const fft::Operations& with,
                std::vector<Stream>& streams);
  fft::Applied applied(const fft::Operations& with) const;
  fft::ModeBlock mode_block(std::int64_t block) const;
  fft::Operations by_device(const Fft::Operations& by_block) const;
  /// The calls that ranks make alike, by their places among the names that same_calls has.
  enum Call : int { calls_forward, calls_backward, calls_convolve };
  /// Does what must be right on this rank, `checks`; at the first call of its kind, or each time by `details`, what one
  /// rank refuses is an error on all.
  void check_call(Call call, const std::vector<Stream>& streams, const std::function<void()>& checks,
                  std::optional<std::uint64_t> details = {});
  void check_arguments(bool forward, const Sources& from, const Targets& to, const std::vector<Stream>& streams) const;
  void check_convolution(const Sources& from, const Targets& through, const Targets& to,
                         const std::vector<Stream>& streams) const;
  /// Arrays that would be written before they are read, or twice.
  void require_apart(bool forward, const Sources& from, const Targets& to) const;
  /// The arrays of a factor are read while these are written.
  void require_apart(const FftFactor& factor, const Targets& through, const Targets& to) const;
  std::int64_t bytes_of(std::size_t device, bool of_cells) const;
  void scale(const std::vector<void*>& arrays, std::vector<Stream>& streams) const;
  /// Arrays by the devices of this rank, null where one has no block.
  template <class Pointer>
  std::vector<Pointer> by_device(const Grid& of, const std::vector<Pointer>& arrays, const char* what) const;
  template <class Pointer>
  std::vector<std::vector<Pointer>> by_component(const Grid& of, const std::vector<std::vector<Pointer>>& arrays,
                                                 const char* what) const;
  /// The arrays of a field by component, then by block of this rank.
  template <class Pointer>
  std::vector<std::vector<Pointer>> arrays_of(const Field& field, const Grid& on, DType type) const;
  template <class F>
  void each_move(const F& f) {
    for (fft::Lane& lane : lanes)
      for (std::vector<fft::Step>* steps : {&lane.forward, &lane.backward})
        for (fft::Step& step : *steps)
          if (step.move)
            for (fft::Part& part : step.move->parts) f(*part.exchange);
  }

 private:
  void make_out_of_core();
  void make_lane();
  void allocate(fft::Lane& lane) const;
  /// Lines of all devices of this rank, `batch(extent of the block)` each.
  template <class BatchOf>
  void add_lines(std::vector<fft::Step>& steps, fft::Stage stage, fft::Array from, fft::Array to, const BatchOf& batch);
  /// Options of the next move of a lane that is packed, measured where that is asked for.
  ExchangeOptions options_of_move(const fft::Lane& lane, const Grid& on, const ExchangeItem& item);
  /// `clears`: what does not travel must be zero at the target. `whole`: in one part.
  void add_move(const fft::Lane& lane, std::vector<fft::Step>& steps, fft::Stage from, fft::Stage to, fft::Array source,
                bool clears = false, bool whole = false);
  /// Into how many parts a move that the engine packs is cut, across the planes of a stage.
  int parts_of(fft::Stage stage) const;
  /// Into how many the modes k_x of a slab's stored move are, backward, and those of a part.
  int parts_along_x(fft::Stage from, fft::Stage to) const;
  Transpose::Range modes_of_part(int part, int parts) const;
  /// Thread blocks of the message of a part, on a GPU.
  int teams_beside_lines() const;
  void make_parts(fft::Move& move, fft::Stage from, fft::Stage to, const ExchangeItem& item, const ExchangeOptions& how,
                  int parts);
  /// Takes the lines of the last step, cut into planes, into the move; or into modes k_x, those of a stored one.
  void take_lines(fft::Move& move, fft::Step& lines);
  void take_turned(fft::Move& move, const fft::Step& lines);
  void plan_forward(fft::Lane& lane);
  void plan_backward(fft::Lane& lane);
  void share_workspace();
  template <class F>
  void each_lines(std::size_t device, const F& f);
  void clear(const fft::Lane& lane, const fft::Step& step, std::vector<Stream>& streams) const;
  void in_batches(bool forward, const Sources& from, const Targets& to, std::vector<Stream>& streams, double factor);
  void one_by_one(bool forward, const Sources& from, const Targets& to, std::vector<Stream>& streams,
                  const fft::With& with);
  void overlapped(bool forward, const Sources& from, const Targets& to, std::vector<Stream>& streams,
                  const fft::With& with);
  /// The lines of one part while the values of another travel.
  void in_parts(fft::Lane& lane, fft::Step& step, const std::vector<const void*>& from, const std::vector<void*>& to,
                std::vector<Stream>& streams);
  void run_part(const fft::Lane& lane, const fft::Move& move, const fft::Part& part,
                const std::vector<const void*>& from, const std::vector<void*>& to);
  /// Lines behind the move, of modes that have come, while lines before it are stored.
  void stored_in_parts(fft::Lane& lane, fft::Step& step, const std::vector<const void*>& from,
                       std::vector<Stream>& streams, const fft::With& with);
  void store_part(const fft::Lane& lane, const fft::Step& step, const fft::Part* stores, const fft::Part* follows,
                  const std::vector<const void*>& from, std::vector<Stream>& streams, const fft::With& with);
  void meet(std::vector<Stream>& first, std::vector<Stream>& then);
  void begin_move(fft::Lane& lane, fft::Step& step, const std::vector<const void*>& from, std::vector<Stream>& streams,
                  const fft::With& with);
  void run_within(const fft::Lane& lane, fft::Step& step, const std::vector<const void*>& from,
                  const std::vector<void*>& to, std::vector<Stream>& streams, const fft::With& with);
};

}  // namespace slipstream
