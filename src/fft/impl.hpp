#pragma once
// Plan of a distributed Fourier transform: the steps forward and backward, and their memory.
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

/// The arrays that a step reads or writes: two belong to the plan, two to the caller.
enum class Array : std::uint8_t { first, second, from, to };

/// Transforms of lines, by local device; null if the device has no work.
using LinesOfDevices = std::vector<std::unique_ptr<Lines>>;

/// The lines that one device transforms, and the extent of its block.
struct Batch {
  LineBatch lines;
  Extent block{};
};

/// Part of a transpose between devices, sent while other parts are transformed: a range of planes, or of wave numbers
/// k_x. `begin`: by device, byte offsets of the part's FFT lines in the two arrays between which they are transformed.
struct Part {
  std::unique_ptr<Transpose> pattern;
  std::unique_ptr<Exchange> exchange;
  std::vector<std::unique_ptr<StoredLines>> stored;
  LinesOfDevices lines;
  std::vector<std::array<std::int64_t, 2>> begin;
};

/// A transpose of values between two work arrays of a distributed FFT, in one or several parts. The line FFTs before
/// it may store results directly at the target devices. Then `stored` of each part lists these FFTs by local device
/// (null: no values); they read the array `before`. Messages of several parts overlap with line FFTs, those before a
/// forward transpose or after a backward one, which read and write the two arrays `lines`.
struct Move {
  std::optional<Stage> clears;  ///< layout of the target array, if its values that receive nothing must be zeroed
  std::unique_ptr<Field> source, target;
  std::vector<Part> parts;  ///< parts of the transpose: one, or several that overlap with line transforms
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
  std::vector<Batch> batches;  ///< line transforms of each local device; a count of 0: none
  std::optional<Move> move;    ///< transpose between devices; a step with neither it nor line transforms copies values
};

/// Two work arrays per device, and the steps that use them. A lane processes one component of a field at a time.
struct Lane {
  std::vector<std::array<Buffer<std::byte>, 2>> work;  ///< two work arrays for each local device
  std::vector<Step> forward, backward;
  /// On one device: line transforms that begin the backward FFT and apply a point-wise operation as they read modes.
  LinesOfDevices through;
};

/// The step in which an operation is applied to modes.
enum class Applied : std::uint8_t {
  storing,  ///< operation applied by the last line transforms of the forward transform
  copying,  ///< operation applied by the copy that restores the order of modes
  reading,  ///< operation applied by the first line transforms of the backward transform
  apart     ///< operation applied in a pass between both transforms
};
using Operations = std::vector<Operation>;  ///< operation on modes, one per local device

/// Operations on each Fourier mode: `leaves` on results of a forward transform, `reads` on input of a backward one.
struct With {
  const Operations* leaves = nullptr;
  const Operations* reads = nullptr;
  double factor = 1;  ///< factor of the result of an out-of-core backward transform
};

/// Whether the FFTs before a transpose may store results straight into its target. Coded values must be packed instead.
bool stores(const FftOptions& options);
/// Transforms random values forward and backward. Throws Error on all ranks if the result is wrong. Collective.
void verify(const Communicator& comm, const Machine& machine, Fft& fft, const FftOptions& options);

/// Options of a field with contiguous rows.
FieldOptions packed(const std::string& name, DType type);

}  // namespace fft

struct Fft::Impl {
  Communicator comm;
  Machine machine;
  FftOptions options;
  fft::Decomposition cut;
  std::vector<int> devices;  // devices of this rank by index in the machine
  std::vector<Device> local;
  std::unique_ptr<Grid> physical;               // grid of the cells in physical space
  std::array<std::unique_ptr<Grid>, 4> grids;   // grids of the modes in each stage (distribution) of the transform
  std::vector<Buffer<std::byte>> workspace;     // workspace of the FFT library, by local device
  std::vector<fft::Lane> lanes;                 // sets of work arrays: two if components overlap in time, else one
  std::unique_ptr<fft::OutOfCore> out_of_core;  // out-of-core FFTs, whose arrays are in host memory; null: not used
  // streams by device that transform one part of an array while a transpose sends other parts
  std::vector<Stream> line_streams;
  std::vector<Event> reached;                    // events by device that order one stream after another
  CallsInOrder in_order{"a Fourier transform"};  // orders transforms of all streams: they share the work arrays
  Tuning tuning;                                 // combined result of the exchange tuner for all transposes of the FFT
  FftProcessGrids grids_tried;
  std::optional<SameCalls> same_calls;  // compares the calls of ranks; empty if there is one rank
  // tuned exchange options of the FFT's packed transposes, in the order in which these are planned
  std::vector<ExchangeOptions> tuned;

  Impl(const Communicator& comm, const Machine& machine, const Extent& cells, FftOptions options);
  ~Impl();

  const Grid& grid(fft::Stage stage) const { return *grids[static_cast<std::size_t>(stage)]; }
  fft::Stage last_stage() const { return cut.transposed ? fft::Stage::spectral : fft::Stage::natural; }
  /// Index of a device among those of this rank.
  std::size_t place_of(int device) const;

  using Sources = std::vector<std::vector<const void*>>;  // source arrays by component, then by device
  using Targets = std::vector<std::vector<void*>>;
  void run(bool forward, const Sources& from, const Targets& to, std::vector<Stream>& streams,
           const fft::With& with = {});
  void convolve(const Sources& from, const Targets& through, const Targets& to, const fft::Operations& with,
                std::vector<Stream>& streams);
  fft::Applied applied(const fft::Operations& with) const;
  fft::ModeBlock mode_block(std::int64_t block) const;
  fft::Operations by_device(const Fft::Operations& by_block) const;
  /// Transforms that all ranks must call in the same order, as numbers for the check that ranks make the same calls.
  enum Call : int { calls_forward, calls_backward, calls_convolve };
  /// Runs checks of a call on this rank. At the first call of a kind, and at each call with new `details`, an error on
  /// one rank throws on all.
  void check_call(Call call, const std::vector<Stream>& streams, const std::function<void()>& checks,
                  std::optional<std::uint64_t> details = {});
  void check_arguments(bool forward, const Sources& from, const Targets& to, const std::vector<Stream>& streams) const;
  void check_convolution(const Sources& from, const Targets& through, const Targets& to,
                         const std::vector<Stream>& streams) const;
  /// Throws if a transform's output arrays overlap one another, or overlap input that is read after they are written.
  void require_apart(bool forward, const Sources& from, const Targets& to) const;
  /// Throws if the convolution's factor overlaps the arrays of modes or results, which are written while it is read.
  void require_apart(const FftFactor& factor, const Targets& through, const Targets& to) const;
  std::int64_t bytes_of(std::size_t device, bool of_cells) const;
  void scale(const std::vector<void*>& arrays, std::vector<Stream>& streams) const;
  /// Orders arrays by local device; null if the device has no block.
  template <class Pointer>
  std::vector<Pointer> by_device(const Grid& of, const std::vector<Pointer>& arrays, const char* what) const;
  template <class Pointer>
  std::vector<std::vector<Pointer>> by_component(const Grid& of, const std::vector<std::vector<Pointer>>& arrays,
                                                 const char* what) const;
  /// Arrays of a field by component, then by block of this rank.
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
  /// Adds a step that transforms lines on all local devices. `batch(extent of the block)` describes a device's lines.
  template <class BatchOf>
  void add_lines(std::vector<fft::Step>& steps, fft::Stage stage, fft::Array from, fft::Array to, const BatchOf& batch);
  /// Options for the next transpose of an FFT that is packed into messages. It is timed if the user asked for tuning.
  ExchangeOptions options_of_move(const fft::Lane& lane, const Grid& on, const ExchangeItem& item);
  /// Adds a transpose between devices as a step. `clears`: zeroes values that it does not fill. `whole`: in one part.
  void add_move(const fft::Lane& lane, std::vector<fft::Step>& steps, fft::Stage from, fft::Stage to, fft::Array source,
                bool clears = false, bool whole = false);
  /// Whether the FFTs before a transpose store their results directly in its target array, on all ranks. Collective.
  bool lines_store(fft::Stage from, fft::Stage to) const;
  /// Number of parts, each a range of planes of the array, in which a transpose packs and sends the array's values.
  int parts_of(fft::Stage stage) const;
  /// Number of parts along k_x of the backward transpose of slabs. modes_of_part(): range of modes k_x of one part.
  int parts_along_x(fft::Stage from, fft::Stage to) const;
  Transpose::Range modes_of_part(int part, int parts) const;
  /// Number of thread blocks on a GPU that send messages of a transpose while FFTs of lines run at the same time.
  int teams_with_lines() const;
  void make_parts(fft::Move& move, fft::Stage from, fft::Stage to, const ExchangeItem& item, const ExchangeOptions& how,
                  int parts);
  /// Divide line FFTs beside a transpose (`lines`) among its parts, which are sent in turn: take_lines() by plane,
  /// take_permuted() by mode k_x. The latter is for FFT kernels that store results on the target directly.
  void take_lines(fft::Move& move, fft::Step& lines);
  void take_permuted(fft::Move& move, const fft::Step& lines);
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
  /// Runs the line transforms of one part of a transpose while the values of another part are in flight.
  void in_parts(fft::Lane& lane, fft::Step& step, const std::vector<const void*>& from, const std::vector<void*>& to,
                std::vector<Stream>& streams);
  void run_part(const fft::Lane& lane, const fft::Move& move, const fft::Part& part,
                const std::vector<const void*>& from, const std::vector<void*>& to);
  /// Runs a transpose in parts: lines after it transform received modes while lines before it store further ones.
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
