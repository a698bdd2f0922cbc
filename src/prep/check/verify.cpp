#include "prep/check/verify.h"

#include "core/hash.h"
#include "core/interrupt.h"
#include "prep/check/invariants.h"
#include "storage/format/data_file.h"
#include "storage/format/manifest.h"
#include "storage/io/read_errors.h"

#include <sluice/mutex.h>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

namespace sluice {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kPieceBytes = 32 * kSumBlockBytes;  // what one task reads

struct Piece {
  const FileEntry* entry;
  const ChecksumFile* sums;
  std::uint64_t begin;
  std::uint64_t end;
};

class Verifier {
 public:
  Verifier(const std::string& path, PrepContext& context)
      : root_(path), context_(context), manifest_(Manifest::load(path).or_throw()) {}

  VerifyReport run() {
    report_.schema = manifest_.schema;
    report_.nodes = manifest_.schema.total_nodes();
    report_.edges = manifest_.schema.total_edges();
    check_files();
    check_data();
    take_problems();
    // A graph whose bytes are wrong has no invariants worth a look.
    if (report_.problems.empty()) {
      for (std::string& problem : check_invariants(root_, manifest_, context_.ledger)) {
        report_.problems.push_back(std::move(problem));
      }
    }
    find_strangers();
    std::sort(report_.problems.begin(), report_.problems.end());
    return std::move(report_);
  }

 private:
  void report(const Error& error) {
    const MutexLock lock(mutex_);
    problems_.emplace_back(error.what());
  }

  void take_problems() {
    const MutexLock lock(mutex_);
    report_.problems = std::move(problems_);
  }

  // Sizes and checksum files first: what is wrong there need not be read.
  void check_files() {
    for (const auto& [path, entry] : manifest_.files) {
      ++report_.files;
      auto found = find_file(root_, manifest_, path);
      if (!found) {
        report(found.error());
        continue;
      }
      auto sums = load_checksums(root_, entry, &context_.ledger);
      if (!sums) {
        report(sums.error());
        continue;
      }
      sums_.emplace_back(std::make_unique<ChecksumFile>(std::move(sums).value()));
      for (std::uint64_t begin = 0; begin < entry.bytes; begin += kPieceBytes) {
        pieces_.push_back(
            {&entry, sums_.back().get(), begin, std::min(begin + kPieceBytes, entry.bytes)});
      }
      report_.bytes += entry.bytes;
    }
  }

  void check_data() {
    Progress progress(context_.progress, "verify", report_.bytes, "B");
    context_.arena.for_each(pieces_.size(), [&](std::size_t i) {
      throw_if_interrupted();
      check_piece(pieces_[i]);
      progress.add(pieces_[i].end - pieces_[i].begin);
    });
  }

  void check_piece(const Piece& piece) {
    const fs::path path = root_ / piece.entry->path;
    auto file = File::open_read(path, Direct::kAuto);
    if (!file) return report(file.error());
    auto buffer = AlignedBuffer::make(kSumBlockBytes, &context_.ledger, "read buffers").or_throw();
    for (std::uint64_t at = piece.begin; at < piece.end; at += kSumBlockBytes) {
      const auto bytes = buffer.bytes().first(std::min(kSumBlockBytes, piece.end - at));
      if (auto read = file.value().read_at(at, bytes); !read) return report(read.error());
      check_block(path, *piece.sums, at, bytes);
    }
  }

  void check_block(const fs::path& path,
                   const ChecksumFile& sums,
                   std::uint64_t offset,
                   std::span<const std::byte> bytes) {
    bool page_wrong = false;
    for (std::size_t at = 0; at < bytes.size(); at += kPageBytes) {
      if (xxh3_32(bytes.subspan(at, kPageBytes)) == sums.page_sums[(offset + at) / kPageBytes])
        continue;
      report(checksum_error(path, offset + at));
      page_wrong = true;
    }
    if (!page_wrong && xxh3_64(bytes) != sums.block_sums[offset / kSumBlockBytes]) {
      report(Error(ErrorCode::kData,
                   "the block does not match its checksum",
                   {},
                   Place{path.string(), -1, -1, static_cast<std::int64_t>(offset)}));
    }
  }

  void find_strangers() {
    std::set<std::string> known{kManifestName};
    for (const auto& [path, entry] : manifest_.files) {
      known.insert(path);
      known.insert(sum_path(path));
    }
    for (const auto& entry : fs::recursive_directory_iterator(root_)) {
      const std::string path = entry.path().lexically_relative(root_).generic_string();
      if (entry.is_regular_file() && !known.contains(path)) report_.strangers.push_back(path);
    }
    std::sort(report_.strangers.begin(), report_.strangers.end());
  }

  fs::path root_;
  PrepContext& context_;
  Manifest manifest_;
  std::vector<std::unique_ptr<ChecksumFile>> sums_;
  std::vector<Piece> pieces_;
  Mutex mutex_;
  std::vector<std::string> problems_ SLUICE_GUARDED_BY(mutex_);  // of files and their data
  VerifyReport report_;
};

}  // namespace

VerifyReport verify_dataset(const std::string& path, PrepContext& context) {
  return Verifier(path, context).run();
}

}  // namespace sluice
