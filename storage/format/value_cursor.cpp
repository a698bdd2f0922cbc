#include "storage/format/value_cursor.h"

namespace sluice {

ValueCursor::ValueCursor(const std::filesystem::path& root,
                         const FileEntry& entry,
                         DType dtype,
                         std::uint64_t count,
                         MemoryLedger* ledger,
                         const FileReading& how)
    : cursor_(FileCursor::open(root, entry, how, ledger).or_throw()),
      width_(size_of(dtype)),
      left_(count) {
  if (count <= entry.bytes / width_) return;
  throw Error(ErrorCode::kData,
              "the file is shorter than the manifest's counts need",
              "the dataset is damaged: restore it from a copy or prepare it again",
              Place{(root / entry.path).string(), -1, -1, -1});
}

void ValueCursor::refill() {
  piece_ = cursor_.next().or_throw();
  at_ = 0;
}

}  // namespace sluice
