#include "samplers/bucket_links.h"

#include "core/hash.h"
#include "storage/feature/run_writer.h"

#include <sluice/error.h>
#include <sluice/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace sluice {
namespace {

constexpr const char* kBucketLedger = "edge buckets";
constexpr std::size_t kPiecesHeld = 4;
constexpr std::uint64_t kLinksAtOnce = 1 << 16;
// Buffers of all pieces while links are distributed.
constexpr std::uint64_t kMostSorting = 64 * kMiB;
constexpr std::uint64_t kReadAtOnce = 8 * kMiB;  // of the links, meanwhile

std::uint64_t pieces_in(std::uint64_t links, std::uint64_t most) {
  return (links + most - 1) / most;
}

// Each bucket's last piece may be a short one, and so all of few links are.
std::uint64_t most_pieces(std::uint64_t links,
                          std::uint64_t buckets,
                          std::uint64_t piece_links = kPieceLinks) {
  return std::min(links, buckets + pieces_in(links, piece_links));
}

std::uint64_t buckets_of(std::uint32_t partitions) {
  return std::uint64_t{partitions} * partitions;
}

// Lists by bucket, counts and first pieces, and by piece, first numbers and places, which stay.
std::uint64_t list_bytes(std::uint64_t buckets, std::uint64_t pieces) {
  return 2 * sizeof(std::uint64_t) * (buckets + pieces + 1);
}

// Lists by bucket while links are distributed.
std::uint64_t sorting_bytes(std::uint64_t buckets) {
  return buckets * (sizeof(std::uint64_t) + sizeof(Permutation));
}

}  // namespace

std::uint64_t BucketLinks::disk_bytes(std::uint64_t links, std::uint32_t partitions) {
  // A page at the most is begun for each piece.
  return links * sizeof(Record) + most_pieces(links, buckets_of(partitions)) * kPageBytes;
}

std::uint64_t BucketLinks::memory_bytes(std::uint64_t links, std::uint32_t partitions) {
  const std::uint64_t buckets = buckets_of(partitions);
  const std::uint64_t pages = disk_bytes(links, partitions) / kPageBytes;
  const std::uint64_t piece = std::min(links, kPieceLinks) * sizeof(Record) + kPageBytes;
  // Pieces are held once all are sorted.
  return pages * sizeof(std::uint32_t) + list_bytes(buckets, most_pieces(links, buckets)) +
         std::max(sorting_bytes(buckets), kPiecesHeld * piece);
}

BucketLinks::BucketLinks(const Links& links, const BucketLinksOptions& options)
    : options_(options), have_ids_(links.have_ids()) {
  if (links.have_times() || links.have_truth())
    throw Error(ErrorCode::kUsage,
                "edge buckets are of links without times that are all links",
                "set embedding.mode = \"exact\"");
  const std::uint64_t buckets = buckets_of(options_.partitions);
  const std::uint64_t lists =
      list_bytes(buckets, most_pieces(links.size(), buckets, options_.piece_links));
  if (options_.ledger != nullptr) lists_ = options_.ledger->charge(kBucketLedger, lists).or_throw();
  count(links);
  lay_out();
  distribute(links);
}

std::size_t BucketLinks::bucket_of(const Record& record) const {
  const std::uint64_t source = record.source / options_.sources.each;
  const std::uint64_t target = record.target / options_.destinations.each;
  return source * options_.partitions + target;
}

// In the order of their numbers.
template <class Take>
void BucketLinks::for_each(const Links& links, const Take& take) const {
  const std::uint64_t most = std::min(kLinksAtOnce, std::max<std::uint64_t>(links.size(), 1));
  const auto charge =
      options_.ledger == nullptr
          ? Charge()
          : options_.ledger->charge(kBucketLedger, most * 4 * sizeof(std::uint64_t)).or_throw();
  std::vector<std::uint64_t> numbers(most), sources(most), targets(most), ids(most);
  for (std::uint64_t first = 0; first < links.size(); first += most) {
    const std::uint64_t some = std::min(most, links.size() - first);
    for (std::uint64_t i = 0; i < some; ++i) numbers[i] = first + i;
    Links::Ends ends{{sources.data(), some}, {targets.data(), some}};
    if (have_ids_) ends.ids = {ids.data(), some};
    links.find({numbers.data(), some}, ends).or_throw();
    for (std::uint64_t i = 0; i < some; ++i) take(Record{sources[i], targets[i], ids[i]});
  }
}

void BucketLinks::count(const Links& links) {
  counts_.assign(std::size_t{options_.partitions} * options_.partitions, 0);
  for_each(links, [&](const Record& record) { ++counts_[bucket_of(record)]; });
}

// Pieces by the pages that each begins with.
void BucketLinks::lay_out() {
  begins_ = {0};
  offsets_ = {0};
  for (const std::uint64_t links : counts_) {
    first_pieces_.push_back(begins_.size() - 1);
    for (std::uint64_t from = 0; from < links; from += options_.piece_links) {
      const std::uint64_t some = std::min(options_.piece_links, links - from);
      begins_.push_back(begins_.back() + some);
      offsets_.push_back(offsets_.back() + round_up_to_page(some * sizeof(Record)));
    }
  }
  sums_ = Array::make(DType::kU32,
                      {static_cast<std::int64_t>(offsets_.back() / kPageBytes)},
                      options_.ledger,
                      kBucketLedger)
              .or_throw();
}

// A link's place in its bucket is a permutation of the order in which it came, so that pieces of
// one bucket are alike.
void BucketLinks::distribute(const Links& links) {
  file_ = File::scratch(options_.folder, Direct::kAuto).or_throw();
  if (size() == 0) return;
  file_.reserve(offsets_.back()).or_throw();
  const std::size_t pieces = begins_.size() - 1;
  const Charge sorting =
      options_.ledger == nullptr
          ? Charge()
          : options_.ledger->charge(kBucketLedger, sorting_bytes(counts_.size())).or_throw();
  std::uint64_t room = kMostSorting;
  if (options_.ledger != nullptr) room = std::min(room, options_.ledger->available() / 2);
  const RunWriter::Chunks chunks = RunWriter::chunks_for(room, pieces);
  if (chunks.bytes == 0)
    throw Error(ErrorCode::kResource,
                fmt::format("{} are too little to sort links into {} pieces of edge buckets",
                            format_bytes(room),
                            pieces),
                "lower embedding.partitions, or set [memory] host higher");
  AlignedBuffer buffers =
      AlignedBuffer::make(chunks.bytes * chunks.count, options_.ledger, kBucketLedger).or_throw();
  RunWriter writer(
      file_, offsets_, sums_.as<std::uint32_t>(), chunks.bytes, buffers.bytes(), kReadAtOnce);
  std::vector<std::uint64_t> came(counts_.size(), 0);
  std::vector<Permutation> places;
  places.reserve(counts_.size());
  for (std::size_t bucket = 0; bucket < counts_.size(); ++bucket)
    places.emplace_back(std::max<std::uint64_t>(counts_[bucket], 1),
                        options_.key.with("bucket").with(bucket));
  for_each(links, [&](const Record& record) {
    const std::size_t bucket = bucket_of(record);
    const std::uint64_t place = places[bucket].at(came[bucket]++) / options_.piece_links;
    writer.append(first_pieces_[bucket] + place, std::as_bytes(std::span(&record, 1))).or_throw();
  });
  writer.finish().or_throw();
}

std::uint64_t BucketLinks::bytes_read() const {
  const MutexLock lock(mutex_);
  return bytes_read_;
}

Result<void> BucketLinks::find(std::span<const std::uint64_t> numbers, const Ends& out) const {
  const MutexLock lock(mutex_);
  std::size_t piece = 0;
  const Record* records = nullptr;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (records == nullptr || numbers[i] < begins_[piece] || numbers[i] >= begins_[piece + 1]) {
      const auto after = std::ranges::upper_bound(begins_, numbers[i]);
      piece = static_cast<std::size_t>(after - begins_.begin()) - 1;
      auto held = hold(piece);
      if (!held) return std::move(held).error();
      records = held.value();
    }
    const Record& record = records[numbers[i] - begins_[piece]];
    out.sources[i] = record.source;
    out.targets[i] = record.target;
    if (!out.ids.empty()) out.ids[i] = record.id;
  }
  std::ranges::fill(out.truth, std::uint8_t{1});
  return {};
}

// The piece in memory, in the place of the one that was asked for longest ago.
Result<const BucketLinks::Record*> BucketLinks::hold(std::size_t piece) const {
  auto found = std::ranges::find(held_, piece, &Held::piece);
  if (found == held_.end()) {
    if (held_.size() < kPiecesHeld) {
      std::uint64_t largest = 0;
      for (std::size_t p = 0; p + 1 < offsets_.size(); ++p)
        largest = std::max(largest, offsets_[p + 1] - offsets_[p]);
      auto buffer = AlignedBuffer::make(largest, options_.ledger, kBucketLedger);
      if (!buffer) return std::move(buffer).error();
      held_.push_back({std::move(buffer).value(), piece});
      found = std::prev(held_.end());
    } else {
      found = std::ranges::min_element(held_, {}, &Held::used);
    }
    found->piece = begins_.size();  // none, until it is there
    if (auto done = read(piece, *found); !done) return std::move(done).error();
    found->piece = piece;
    bytes_read_ += offsets_[piece + 1] - offsets_[piece];
  }
  found->used = ++asked_;
  return reinterpret_cast<const Record*>(found->buffer.data());
}

Result<void> BucketLinks::read(std::size_t piece, Held& held) const {
  const std::uint64_t begin = offsets_[piece], bytes = offsets_[piece + 1] - begin;
  const std::span<std::byte> into = held.buffer.bytes().first(bytes);
  if (auto done = file_.read_at(begin, into); !done) return done;
  const auto sums = sums_.as<std::uint32_t>();
  for (std::uint64_t at = 0; at < bytes; at += kPageBytes) {
    if (xxh3_32(into.subspan(at, kPageBytes)) == sums[(begin + at) / kPageBytes]) continue;
    return Error(ErrorCode::kIo,
                 "edge buckets are not what was written",
                 "check the disk (dmesg); the run goes on from its last checkpoint: sluice-train "
                 "resume",
                 Place{options_.folder.string(), -1, -1, static_cast<std::int64_t>(begin + at)});
  }
  return {};
}

}  // namespace sluice
