#include "storage/io/scratch_files.h"

#include "storage/io/disk_space.h"

#include <exception>
#include <utility>

namespace sluice {
namespace {

// Others write on the same disk too.
constexpr std::uint64_t kFreeForKept = 2;

}  // namespace

std::shared_ptr<File> ScratchFiles::take(const std::filesystem::path& folder, std::uint64_t bytes) {
  std::shared_ptr<File> file = take_spare(folder, bytes);
  bool keep = true;
  {
    const MutexLock lock(mutex_);
    keep = may_keep(folder, 0);
  }
  if (!keep) drop();
  if (!file) {
    closer_.wait();  // their room may be what is wanted
    file = std::make_shared<File>(File::scratch(folder, Direct::kAuto).or_throw());
  }
  if (bytes == 0) return file;
  auto reserved = file->reserve(bytes);
  if (!reserved && reserved.error().code() == ErrorCode::kResource) {
    drop();
    reserved = file->reserve(bytes);
  }
  std::move(reserved).or_throw();
  return file;
}

// The smallest that is large enough, or the largest.
std::shared_ptr<File> ScratchFiles::take_spare(const std::filesystem::path& folder,
                                               std::uint64_t bytes) {
  const MutexLock lock(mutex_);
  auto best = spare_.end();
  for (auto spare = spare_.begin(); spare != spare_.end(); ++spare) {
    if (spare->file->path() != folder) continue;
    const bool enough = spare->bytes >= bytes;
    const bool better =
        best == spare_.end() ||
        (best->bytes < bytes ? spare->bytes > best->bytes : enough && spare->bytes < best->bytes);
    if (better) best = spare;
  }
  if (best == spare_.end()) return nullptr;
  std::shared_ptr<File> file = std::move(best->file);
  spare_.erase(best);
  return file;
}

// Whether so many bytes more, of files on the disk of `folder`, may be kept.
bool ScratchFiles::may_keep(const std::filesystem::path& folder, std::uint64_t more) const {
  std::uint64_t kept = more;
  for (const Spare& spare : spare_) kept += spare.bytes;
  return kept == 0 || free_bytes(folder) / kFreeForKept >= kept;
}

void ScratchFiles::give_back(std::shared_ptr<File> file) noexcept {
  if (!file) return;
  try {
    const MutexLock lock(mutex_);
    Spare spare{file, file->size().or_throw()};
    // Two have it here.
    if (file.use_count() == 2 && may_keep(file->path(), spare.bytes)) {
      spare_.push_back(std::move(spare));
      return;
    }
  } catch (const std::exception&) {
    // It is not kept.
  }
  closer_.close(std::move(file));
}

void ScratchFiles::drop() {
  std::vector<Spare> spare;
  {
    const MutexLock lock(mutex_);
    spare.swap(spare_);
  }
  for (Spare& each : spare) closer_.close(std::move(each.file));
  closer_.wait();
}

}  // namespace sluice
