#include "storage/embedding/group_store.h"

#include "core/hash.h"
#include "storage/io/read_errors.h"

#include <sluice/error.h>
#include <sluice/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <system_error>
#include <utility>

namespace sluice {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kStagingBytes = 8 << 20;
constexpr std::uint64_t kMostRequest = 1 << 20;
// Shorter stretches are not worth a call each: they are written to again.
constexpr std::uint64_t kLeastPunched = 1 << 20;
constexpr int kMoreReads = 2;  // of a group whose checksums do not match

Array make_array(DType dtype, std::uint64_t size, MemoryLedger* ledger) {
  return Array::make(dtype, {static_cast<std::int64_t>(size)}, ledger, "embedding pages")
      .or_throw();
}

std::uint8_t bit_of(std::uint8_t side) {
  return static_cast<std::uint8_t>(1u << side);
}

Error folder_in_use(const fs::path& folder) {
  return Error(ErrorCode::kUsage,
               "another process uses this embedding table",
               "wait until it ends, or choose another folder",
               Place{folder.string(), -1, -1, -1});
}

// What a kill has left of files that were to appear whole, and sides that no generation has.
void remove_leftovers(const fs::path& folder, std::uint8_t sides_held) {
  std::error_code ignored;
  std::vector<fs::path> leftovers;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(".rows-") && name.ends_with(".partial")) leftovers.push_back(entry.path());
  }
  for (std::uint8_t side = 0; side < kMostSides; ++side)
    if ((sides_held & bit_of(side)) == 0) leftovers.push_back(side_path(folder, side));
  for (const fs::path& path : leftovers) fs::remove(path, ignored);
}

}  // namespace

GroupStore::GroupStore(GroupStoreOptions options,
                       InitialValues initial,
                       const TableManifest* opened)
    : options_(std::move(options)), initial_(std::move(initial)) {
  staging_ = std::make_shared<AlignedBuffer>(
      AlignedBuffer::make(staging_bytes(layout()), options_.ledger, "embedding staging")
          .or_throw());
  lock_folder();
  take_arrays(opened);
  if (options_.folder.empty()) return;
  take_generations(opened);
  check_sides();
  open_reader();
  if (!reads_alone()) punch_unheld();
}

std::uint64_t GroupStore::staging_bytes(const RowLayout& layout) {
  return std::max<std::uint64_t>(kStagingBytes, 2 * std::uint64_t{layout.group_bytes});
}

void GroupStore::lock_folder() {
  if (options_.folder.empty() || reads_alone()) return;
  lock_ = DirectoryLock::lock_or_error(options_.folder).or_throw();
  if (!lock_) throw folder_in_use(options_.folder);
}

void GroupStore::take_arrays(const TableManifest* opened) {
  if (opened != nullptr) {
    sides_ = make_array(DType::kU8, layout().groups(), options_.ledger);
    std::ranges::copy(opened->sides.as<std::uint8_t>(), sides().begin());
    sums_ = opened->page_sums;
  } else {
    sides_ = make_array(DType::kU8, layout().groups(), options_.ledger);
    sums_ = make_array(DType::kU32, layout().pages(), options_.ledger);
    std::ranges::fill(sides(), kNoSide);
    std::ranges::fill(sums(), 0u);
  }
  if (options_.ledger != nullptr)
    held_charge_ = options_.ledger->charge("embedding pages", layout().groups()).or_throw();
  held_.resize(layout().groups());
}

// All generations of the folder are held, whichever of them is opened.
void GroupStore::take_generations(const TableManifest* opened) {
  if (reads_alone()) return;
  for (const std::uint64_t generation : list_generations(options_.folder)) {
    last_generation_ = generation;
    if (opened != nullptr && opened->generation == generation) {
      generations_[generation] = opened->sides;
      continue;
    }
    try {
      generations_[generation] = read_manifest(options_.folder, generation, options_.ledger).sides;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kData) throw;
      damaged_.insert(generation);
    }
  }
  hold_all();
}

// Those that rows of this generation lie on must be there; what others lack is their own affair.
void GroupStore::check_sides() const {
  std::uint8_t wanted = 0;
  for (const std::uint8_t side : sides())
    if (side != kNoSide) wanted = static_cast<std::uint8_t>(wanted | bit_of(side));
  for (std::uint8_t number = 0; number < kMostSides; ++number)
    if ((wanted & bit_of(number)) != 0)
      File::open_read(side_path(options_.folder, number)).or_throw();
}

void GroupStore::hold_all() {
  std::ranges::fill(held_, std::uint8_t{0});
  for (const auto& [generation, of] : generations_) hold(of.as<std::uint8_t>());
}

void GroupStore::hold(std::span<const std::uint8_t> sides_of_one) {
  const std::size_t groups = std::min(sides_of_one.size(), held_.size());
  for (std::size_t g = 0; g < groups; ++g)
    if (sides_of_one[g] != kNoSide) held_[g] |= bit_of(sides_of_one[g]);
}

// Sides are attached as long as the table is now.
void GroupStore::open_reader() {
  if (reader_) {
    gone_read_ += reader_->stats().bytes;
    gone_written_ += writer_->stats().bytes;
  }
  writer_.reset();
  reader_ = std::make_unique<BlockReader>(options_.make_engine());
  writer_ = std::make_unique<BlockWriter>(*reader_);
  staging_slot_ = reader_->attach(staging_).or_throw();
  for (Side& side : sides_files_) side.slot.reset();
}

GroupStore::Side& GroupStore::open_side(std::uint8_t number) {
  Side& side = sides_files_[number];
  if (side.slot) return side;
  if (!side.file) {
    const fs::path path = side_path(options_.folder, number);
    side.file = std::make_shared<File>((reads_alone() ? File::open_read(path, Direct::kAuto)
                                                      : File::open_update(path, Direct::kAuto))
                                           .or_throw());
  }
  if (!reads_alone() && side.file->size().or_throw() < layout().bytes())
    side.file->resize(layout().bytes()).or_throw();
  side.slot = reader_->attach(side.file).or_throw();
  return side;
}

// Gives room on the sides that no generation has back to the disk.
void GroupStore::punch_unheld() {
  std::uint8_t any = 0;  // of later and larger generations too
  for (const auto& [generation, of] : generations_)
    for (const std::uint8_t side : of.as<std::uint8_t>())
      if (side != kNoSide) any = static_cast<std::uint8_t>(any | bit_of(side));
  remove_leftovers(options_.folder, any);
  for (std::uint8_t number = 0; number < kMostSides; ++number) {
    const fs::path path = side_path(options_.folder, number);
    if ((any & bit_of(number)) == 0 || !fs::exists(path)) continue;
    File file = File::open_update(path).or_throw();
    const std::uint64_t groups = held_.size();
    for (std::uint64_t begin = 0, end = 0; begin < groups; begin = end + 1) {
      end = begin;
      while (end < groups && (held_[end] & bit_of(number)) == 0) ++end;
      const std::uint64_t bytes = (end - begin) * layout().group_bytes;
      if (bytes >= kLeastPunched) file.punch(begin * layout().group_bytes, bytes).or_throw();
    }
  }
}

void GroupStore::make(std::uint64_t group, std::byte* to) const {
  std::memset(to, 0, layout().group_bytes);
  initial_.fill(layout().first_row(group),
                layout().rows_of(group),
                layout().dim,
                reinterpret_cast<float*>(to),
                layout().row_floats());
}

BlockRead GroupStore::request(std::uint8_t side, const StagedGroup& first, std::uint64_t groups) {
  const std::uint64_t bytes = layout().group_bytes;
  return {*open_side(side).slot,
          staging_slot_,
          static_cast<std::uint32_t>(groups * bytes),
          first.group * bytes,
          first.place};
}

std::vector<BlockRead> GroupStore::read_requests(std::span<const StagedGroup> groups) {
  std::vector<BlockRead> reads;
  const std::uint64_t bytes = layout().group_bytes;
  const std::uint64_t most = std::max<std::uint64_t>(kMostRequest / bytes, 1);
  for (std::size_t i = 0; i < groups.size();) {
    const StagedGroup& first = groups[i];
    const std::uint8_t side = sides()[first.group];
    std::uint64_t count = 1;
    // Through what lies between, where the staging buffer has room for it.
    for (++i; i < groups.size(); ++i) {
      const std::uint64_t more = groups[i].group - first.group + 1;
      const bool follows = groups[i].place - first.place == (more - 1) * bytes;
      if (!follows || more > most || sides()[groups[i].group] != side) break;
      count = more;
    }
    reads.push_back(request(side, first, count));
  }
  return reads;
}

void GroupStore::read(std::span<const StagedGroup> groups) {
  if (groups.empty()) return;  // of a table without a folder always
  reader_->read(read_requests(groups)).or_throw();
  for (const StagedGroup& group : groups)
    if (!intact(group)) read_again(group);
}

bool GroupStore::intact(const StagedGroup& group) {
  const std::uint32_t pages = layout().group_pages();
  const std::byte* bytes = staging_->data() + group.place;
  for (std::uint32_t page = 0; page < pages; ++page) {
    if (xxh3_32({bytes + page * kPageBytes, kPageBytes}) != sums()[group.group * pages + page])
      return false;
  }
  return true;
}

void GroupStore::read_again(const StagedGroup& group) {
  const std::uint8_t side = sides()[group.group];
  for (int times = 0; times < kMoreReads; ++times) {
    const BlockRead once = request(side, group, 1);
    reader_->read(std::span(&once, 1)).or_throw();
    if (intact(group)) return;
  }
  const std::uint32_t pages = layout().group_pages();
  std::uint32_t page = 0;
  while (page + 1 < pages &&
         xxh3_32(staging().subspan(group.place + page * kPageBytes, kPageBytes)) ==
             sums()[group.group * pages + page])
    ++page;
  throw Error(
      ErrorCode::kData,
      "a page of embedding rows does not match its checksum",
      "the file is damaged: use another generation of the table, or a copy of it",
      Place{side_path(options_.folder, side).string(),
            -1,
            -1,
            static_cast<std::int64_t>(group.group * layout().group_bytes + page * kPageBytes)});
}

std::uint8_t GroupStore::side_to_write(std::uint64_t group) const {
  const std::uint8_t now = sides()[group];
  if (now != kNoSide && (held_[group] & bit_of(now)) == 0) return now;
  // There is one: kept generations are fewer than sides.
  return static_cast<std::uint8_t>(std::countr_one(held_[group]));
}

void GroupStore::check_commit() const {
  if (reads_alone())
    throw Error(ErrorCode::kInternal,
                "an embedding table that was opened to read is to be committed");
  if (generations_.size() + 1 < kMostSides) return;
  throw Error(ErrorCode::kUsage,
              fmt::format("{} generations of an embedding table are kept, and no more can be",
                          generations_.size()),
              "keep() those that are needed, and no others",
              Place{options_.folder.string(), -1, -1, -1});
}

std::vector<BlockWrite> GroupStore::write_requests(std::span<const StagedGroup> groups) {
  if (options_.folder.empty() || reads_alone())
    throw Error(ErrorCode::kInternal,
                "changed rows of an embedding table that nothing is written to are to leave memory",
                "name the folder of its rows, and open it for writing");
  std::vector<BlockWrite> writes;
  const std::uint64_t bytes = layout().group_bytes;
  const std::uint64_t most = std::max<std::uint64_t>(kMostRequest / bytes, 1);
  for (std::size_t i = 0; i < groups.size();) {
    const StagedGroup& first = groups[i];
    const std::uint8_t side = side_to_write(first.group);
    std::uint64_t count = 1;
    for (++i; i < groups.size() && count < most; ++i, ++count) {
      const bool follows =
          groups[i].group == first.group + count && groups[i].place == first.place + count * bytes;
      if (!follows || side_to_write(groups[i].group) != side) break;
    }
    writes.push_back(request(side, first, count));
    sides_files_[side].unsynced = true;
  }
  return writes;
}

void GroupStore::exchange(std::span<const StagedGroup> reads, std::span<const StagedGroup> writes) {
  if (writes.empty()) return read(reads);
  const std::vector<BlockWrite> written = write_requests(writes);
  writer_->exchange(read_requests(reads), written).or_throw();
  const std::uint32_t pages = layout().group_pages();
  for (const StagedGroup& group : writes) {
    sides()[group.group] = side_to_write(group.group);
    for (std::uint32_t page = 0; page < pages; ++page)
      sums()[group.group * pages + page] =
          xxh3_32(staging().subspan(group.place + page * kPageBytes, kPageBytes));
  }
  for (const StagedGroup& group : reads)
    if (!intact(group)) read_again(group);
}

std::uint64_t GroupStore::commit() {
  for (Side& side : sides_files_) {
    if (side.unsynced) side.file->sync().or_throw();
    side.unsynced = false;
  }
  TableManifest manifest{
      last_generation_ + 1, layout(), options_.optimizer, initial_.description(), {}, sums_};
  manifest.sides = make_array(DType::kU8, layout().groups(), options_.ledger);
  std::ranges::copy(sides(), manifest.sides.as<std::uint8_t>().begin());
  manifest_bytes_ += write_manifest(options_.folder, manifest);
  ++last_generation_;
  hold(sides());
  generations_[last_generation_] = std::move(manifest.sides);
  return last_generation_;
}

void GroupStore::keep(std::span<const std::uint64_t> kept) {
  for (const std::uint64_t generation : kept) {
    if (generations_.contains(generation) || damaged_.contains(generation)) continue;
    throw Error(ErrorCode::kUsage,
                fmt::format("generation {} of the embedding table is to be kept, and is not there",
                            generation),
                "keep generations that commit() returned",
                Place{options_.folder.string(), -1, -1, -1});
  }
  std::vector<std::uint64_t> gone;
  for (const auto& [generation, of] : generations_)
    if (std::ranges::find(kept, generation) == kept.end()) gone.push_back(generation);
  for (const std::uint64_t generation : damaged_)
    if (std::ranges::find(kept, generation) == kept.end()) gone.push_back(generation);
  for (const std::uint64_t generation : gone) {
    std::error_code problem;
    const fs::path path = manifest_path(options_.folder, generation);
    if (!fs::remove(path, problem) && problem)
      throw system_error(problem.value(), "cannot remove", path);
    generations_.erase(generation);
    damaged_.erase(generation);
  }
  // Before their room is written to.
  sync_directory(options_.folder).or_throw();
  hold_all();
}

void GroupStore::grow(std::uint64_t rows) {
  const RowLayout before = layout();
  options_.layout = RowLayout::make(rows, before.dim, before.state);
  const std::uint64_t groups = layout().groups();
  Array more_sides = make_array(DType::kU8, groups, options_.ledger);
  Array more_sums = make_array(DType::kU32, layout().pages(), options_.ledger);
  std::ranges::fill(more_sides.as<std::uint8_t>(), kNoSide);
  std::ranges::fill(more_sums.as<std::uint32_t>(), 0u);
  std::ranges::copy(sides(), more_sides.as<std::uint8_t>().begin());
  std::ranges::copy(sums(), more_sums.as<std::uint32_t>().begin());
  sides_ = std::move(more_sides);
  sums_ = std::move(more_sums);
  if (options_.ledger != nullptr) held_charge_.resize(groups).or_throw();
  held_.resize(groups);
  hold_all();
  if (options_.folder.empty()) return;
  open_reader();
  if (before.rows % before.rows_per_group == 0 || !written(before.groups() - 1)) return;
  const std::uint64_t last = before.groups() - 1;
  const StagedGroup group{last, 0};
  read({&group, 1});
  initial_.fill(before.rows,
                layout().first_row(last) + layout().rows_of(last) - before.rows,
                layout().dim,
                reinterpret_cast<float*>(staging().data() + layout().offset_in_group(before.rows)),
                layout().row_floats());
  write({&group, 1});
}

}  // namespace sluice
