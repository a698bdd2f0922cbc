#include "storage/format/data_file_reader.h"

#include "core/pages_ahead.h"
#include "storage/format/data_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace sluice {
namespace {

// Large arrays are fresh memory. Its pages are made by threads of their own meanwhile.
constexpr std::size_t kLeastArrayPagesAhead = 16 << 20;

std::span<std::byte> whole_pages(std::span<std::byte> memory) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  const std::size_t head = (kPageBytes - address % kPageBytes) % kPageBytes;
  return memory.subspan(head, (memory.size() - head) / kPageBytes * kPageBytes);
}

}  // namespace

Result<void> scan_file(
    const std::filesystem::path& root,
    const FileEntry& entry,
    const FileReading& how,
    MemoryLedger* ledger,
    const std::function<Result<void>(std::uint64_t, std::span<const std::byte>)>& take) {
  auto cursor = FileCursor::open(root, entry, how, ledger);
  if (!cursor) return std::move(cursor).error();
  for (;;) {
    const std::uint64_t offset = cursor.value().offset();
    auto bytes = cursor.value().next();
    if (!bytes) return std::move(bytes).error();
    if (bytes.value().empty()) return {};
    if (auto taken = take(offset, bytes.value()); !taken) return taken;
  }
}

Result<void> fill_from_file(const std::filesystem::path& root,
                            const Manifest& manifest,
                            const std::string& path,
                            std::span<std::byte> out,
                            const DatasetOptions& options,
                            std::optional<IoChoice> ahead) {
  auto entry = find_file(root, manifest, path);
  if (!entry) return std::move(entry).error();
  if (round_up_to_page(out.size()) != entry.value().bytes) {
    return damaged_file(
        root / path,
        fmt::format("the file has {} bytes where {} are needed", entry.value().bytes, out.size()));
  }
  std::optional<PagesAhead> pages;
  if (ahead && out.size() >= kLeastArrayPagesAhead)
    pages.emplace(whole_pages(out)).want(out.size());
  return scan_file(root,
                   entry.value(),
                   {options.verify, ahead},
                   options.ledger,
                   [&](std::uint64_t offset, std::span<const std::byte> bytes) -> Result<void> {
                     const std::size_t count =
                         std::min<std::size_t>(bytes.size(), out.size() - offset);
                     if (count != 0) std::memcpy(out.data() + offset, bytes.data(), count);
                     return {};
                   });
}

Result<Array> load_array(const std::filesystem::path& root,
                         const Manifest& manifest,
                         const std::string& path,
                         DType dtype,
                         Array::Shape shape,
                         const DatasetOptions& options,
                         std::string_view charge_name,
                         std::optional<IoChoice> ahead) {
  auto array = Array::make(dtype, std::move(shape), options.ledger, charge_name);
  if (!array) return array;
  auto filled = fill_from_file(root, manifest, path, array.value().raw(), options, ahead);
  if (!filled) return std::move(filled).error();
  return array;
}

}  // namespace sluice
