#include "exchange/same_on_ranks.hpp"

#include <algorithm>

#include <slipstream/error.hpp>

namespace slipstream {

std::string described(const Grid& grid, const std::vector<PlannedItem>& items) {
  std::string text;
  for (const auto& item : items) {
    const FieldOptions& field = item.source;
    text += (text.empty() ? "" : ", ") + field.name + (item.target ? " to " + item.target->name : "") + " (" +
            std::to_string(field.components) + " x " + to_string(field.type) + ", " + to_string(field.layout) +
            ", by " + item.pattern->name() + (item.coding == Coding{} ? "" : ", " + to_string(item.coding)) + ")";
  }
  return text + " on " + to_string(grid.extent()) + " cells in " + std::to_string(grid.blocks().size()) + " blocks";
}

void require_same(const Communicator& comm, std::uint64_t number, const std::string& text, const std::string& things,
                  const Problem& problem) {
  constexpr char marks_a_letter = '\1';
  const std::string mine = problem ? "" : std::to_string(number);
  if (comm.all(mine == comm.broadcast(mine, 0))) return throw_if(problem);
  std::vector<std::string> texts = comm.all_gather(problem ? marks_a_letter + letter_of(problem) : mine + ' ' + text);
  for (int each = 0; each < comm.size(); ++each)
    if (const std::string& said = texts[static_cast<std::size_t>(each)]; said.starts_with(marks_a_letter))
      throw error_of_rank(each, said.substr(1));
  const auto number_of = [](const std::string& said) { return said.substr(0, said.find(' ')); };
  const auto other = std::find_if(texts.begin(), texts.end(),
                                  [&](const auto& said) { return number_of(said) != number_of(texts.front()); });
  const auto rank = static_cast<std::size_t>(other - texts.begin());
  for (std::string& said : texts) said.erase(0, said.find(' ') + 1);
  throw Error(ErrorCode::mismatch,
              "the ranks construct different " + things + ": rank 0 one of " + texts.front() + ", rank " +
                  std::to_string(rank) + " one of " + texts[rank] +
                  (texts[rank] == texts.front() ? ", with other ghosts, blocks, routes, knobs or throttle" : ""),
              {{"rank", rank}, {"first", texts.front()}, {"given", texts[rank]}});
}

}  // namespace slipstream
