#include "pipeline/plan/epoch_lists.h"

#include "storage/io/aligned_buffer.h"

#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>

namespace sluice {
namespace {

constexpr std::size_t kListedAtOnce = 16384;  // rows, between a file and a list in memory
constexpr std::uint32_t kUnwritten = 0;       // no window is numbered 0: "never" on disk

std::size_t id_width(std::uint64_t nodes) {
  return nodes <= std::numeric_limits<std::uint32_t>::max() ? 4 : 8;
}

std::size_t window_width(std::uint64_t windows) {
  return windows < std::numeric_limits<std::uint16_t>::max() ? 2 : 4;
}

// Ids whose next uses are found in one pass over the lists, by notes of so many bytes.
std::uint64_t noted_at_once(std::uint64_t nodes, std::size_t note, std::uint64_t buffer_bytes) {
  return std::clamp<std::uint64_t>(buffer_bytes / 2 / note, 1, nodes);
}

}  // namespace

RowList::RowList(const std::filesystem::path& folder, std::uint64_t nodes)
    : ids(folder, id_width(nodes)), places(folder, sizeof(std::uint32_t)) {}

void RowList::append(std::span<const WantedRow> rows) {
  std::array<std::uint64_t, kListedAtOnce> row_ids;
  std::array<std::uint32_t, kListedAtOnce> row_places;
  while (!rows.empty()) {
    const std::size_t count = std::min(kListedAtOnce, rows.size());
    for (std::size_t i = 0; i < count; ++i) {
      row_ids[i] = rows[i].row;
      row_places[i] = static_cast<std::uint32_t>(rows[i].place);
    }
    ids.append(std::span<const std::uint64_t>(row_ids).first(count));
    places.append(std::span<const std::uint32_t>(row_places).first(count));
    rows = rows.subspan(count);
  }
}

void RowList::read(std::uint64_t at, std::uint64_t count, std::vector<WantedRow>& out) {
  std::array<std::uint64_t, kListedAtOnce> row_ids;
  std::array<std::uint32_t, kListedAtOnce> row_places;
  out.clear();
  out.reserve(count);
  while (out.size() < count) {
    const std::size_t piece = std::min<std::uint64_t>(kListedAtOnce, count - out.size());
    ids.read(at + out.size(), std::span(row_ids).first(piece));
    places.read(at + out.size(), std::span(row_places).first(piece));
    for (std::size_t i = 0; i < piece; ++i) out.push_back({row_ids[i], row_places[i]});
  }
}

EpochLists::EpochLists(const std::filesystem::path& folder, std::uint64_t nodes)
    : ids(folder, id_width(nodes)),
      places(folder, sizeof(std::uint32_t)),
      missing(folder, nodes),
      nodes_(nodes),
      folder_(folder),
      next_(folder, window_width(0)) {}

void EpochLists::add_window(std::span<const std::uint64_t> window) {
  // Next uses are written once all windows are known: until then the list may change its width.
  if (const std::size_t width = window_width(steps.size() + 1); width != next_.width())
    next_ = ScratchList(folder_, width);
  for (ScratchList* const list : {&next_, &places, &missing.ids, &missing.places})
    list->reserve(ids.size() + window.size());
  Step step;
  step.first_id = ids.size();
  step.rows = window.size();
  ids.append(window);
  steps.push_back(step);
}

void EpochLists::give_back_room() {
  missing.ids.give_back_room();
  missing.places.give_back_room();
}

std::uint64_t EpochLists::most_rows() const {
  std::uint64_t most = 0;
  for (const Step& step : steps) most = std::max(most, step.rows);
  return most;
}

// Goes backwards through the windows and notes by id where it was met last.
template <class Note>
void EpochLists::find_next_uses_by(std::uint64_t buffer_bytes,
                                   MemoryLedger& ledger,
                                   const std::function<void()>& check,
                                   const TellUses& tell) {
  const std::uint64_t most = most_rows();
  const Charge lists = ledger.charge("epoch plan", most * 12).or_throw();
  const std::uint64_t range = noted_at_once(nodes_, sizeof(Note), buffer_bytes);
  AlignedBuffer notes = AlignedBuffer::make(range * sizeof(Note), &ledger, "epoch plan").or_throw();
  const std::span<Note> met(reinterpret_cast<Note*>(notes.data()), range);
  std::vector<std::uint64_t> listed(most);
  std::vector<std::uint32_t> next(most);
  for (std::uint64_t begin = 0; begin < nodes_; begin += range) {
    std::ranges::fill(met, Note{kUnwritten});
    for (std::size_t w = steps.size(); w-- > 0;) {
      check();
      const Step& step = steps[w];
      const std::span<std::uint64_t> of_window = std::span(listed).first(step.rows);
      const std::span<std::uint32_t> uses = std::span(next).first(step.rows);
      ids.read(step.first_id, of_window);
      if (begin != 0) next_.read(step.first_id, uses);
      constexpr std::size_t kAhead = 16;
      for (std::size_t i = 0; i < step.rows; ++i) {
        if (i + kAhead < step.rows && of_window[i + kAhead] - begin < range)
          __builtin_prefetch(&met[of_window[i + kAhead] - begin], 1);
        if (of_window[i] < begin || of_window[i] - begin >= range) continue;
        Note& note = met[of_window[i] - begin];
        uses[i] = note;
        note = static_cast<Note>(w + 1);
      }
      next_.write(step.first_id, uses);
    }
    if constexpr (std::is_same_v<Note, std::uint32_t>) {
      if (!tell) continue;
      for (std::uint32_t& note : met) note = to_window(note);
      tell(begin, met.first(std::min(range, nodes_ - begin)));
    }
  }
}

void EpochLists::find_next_uses(std::uint64_t buffer_bytes,
                                MemoryLedger& ledger,
                                const std::function<void()>& check,
                                const TellUses& tell) {
  // As narrow as they can be, for they are met at random.
  if (!tell && window_width(steps.size()) == sizeof(std::uint16_t))
    return find_next_uses_by<std::uint16_t>(buffer_bytes, ledger, check, tell);
  find_next_uses_by<std::uint32_t>(buffer_bytes, ledger, check, tell);
}

// Windows are noted by their place in these lists, from 1 on.
std::uint32_t EpochLists::to_window(std::uint32_t note) const {
  return note == kUnwritten ? kNeverUsed : windows_before + note;
}

void EpochLists::read_next_uses(const Step& step, std::vector<std::uint32_t>& out) {
  out.resize(step.rows);
  next_.read(step.first_id, std::span<std::uint32_t>(out));
  for (std::uint32_t& use : out) use = to_window(use);
}

void EpochLists::read_missing(const Step& step, std::vector<WantedRow>& wanted) {
  const std::uint64_t here = step.plan == WindowPlan::kPacked ? step.prefilled : 0;
  missing.read(step.first_missing + here, step.prefilled + step.missing - here, wanted);
}

class EpochLists::MissedIds final : public RunIds {
 public:
  explicit MissedIds(EpochLists& lists) : lists_(lists), taken_(lists.steps.size(), 0) {}
  std::size_t runs() const override { return lists_.steps.size(); }
  std::uint64_t size(std::size_t run) const override { return lists_.steps[run].missing; }
  std::size_t take(std::size_t run, std::span<std::uint64_t> out) override {
    const Step& step = lists_.steps[run];
    const std::size_t count = std::min<std::uint64_t>(out.size(), step.missing - taken_[run]);
    lists_.missing.ids.read(step.first_missing + step.prefilled + taken_[run], out.first(count));
    taken_[run] += count;
    return count;
  }

 private:
  EpochLists& lists_;
  std::vector<std::uint64_t> taken_;
};

std::unique_ptr<RunIds> EpochLists::runs() {
  return std::make_unique<MissedIds>(*this);
}

EpochLists::Bytes EpochLists::moved() const {
  Bytes all;
  for (const ScratchList* const list : {&ids, &places, &missing.ids, &missing.places, &next_}) {
    all.read += list->bytes_read();
    all.written += list->bytes_written();
  }
  return all;
}

// Ids: written, read in each pass, and when the cache goes through. Next uses: written in each
// pass, read in all but the first and when the cache goes through. Places: written then, read when
// the window is fetched. Missed ids and their places likewise, but for those that were prefilled;
// ids that are repacked are written and read once more, which repacking counts itself.
EpochLists::Bytes EpochLists::bytes(std::uint64_t nodes,
                                    const Sizes& sizes,
                                    std::uint64_t buffer_bytes) {
  const std::uint64_t at_once = noted_at_once(nodes, window_width(sizes.windows), buffer_bytes);
  const std::uint64_t passes = (nodes + at_once - 1) / at_once;
  const std::uint64_t id = id_width(nodes);
  const std::uint64_t use = window_width(sizes.windows);
  constexpr std::uint64_t kPlace = sizeof(std::uint32_t);
  const std::uint64_t fetched = sizes.packed != 0 ? sizes.packed : sizes.missed;
  return {sizes.wanted * (id * (passes + 1) + use * passes + kPlace) + fetched * (id + kPlace),
          sizes.wanted * (id + use * passes + kPlace) + sizes.missed * (id + kPlace) -
              sizes.packed * id};
}

}  // namespace sluice
