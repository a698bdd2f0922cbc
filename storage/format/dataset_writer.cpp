#include "storage/format/dataset_writer.h"

#include <fmt/format.h>

#include <span>
#include <system_error>
#include <utility>

namespace sluice {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxNoteBytes = 64ull << 20;

[[noreturn]] void refuse_twice(const std::string& path) {
  throw Error(ErrorCode::kInternal,
              fmt::format("the dataset has two contents for its file '{}'", path),
              "report this with the command");
}

// A copy is flushed before the manifest names it; a link names what was flushed long ago.
void link_or_copy(const fs::path& from, const fs::path& to) {
  std::error_code problem;
  fs::create_directories(to.parent_path(), problem);
  if (problem) throw system_error(problem.value(), "cannot create the folder", to.parent_path());
  fs::create_hard_link(from, to, problem);
  if (!problem) return;
  fs::copy_file(from, to, problem);
  if (problem) throw system_error(problem.value(), "cannot copy to", to);
  File copy = File::open_read(to).or_throw();
  copy.sync().or_throw();
}

}  // namespace

DatasetWriter::DatasetWriter(const std::filesystem::path& target,
                             Overwrite overwrite,
                             MemoryLedger* ledger,
                             Resume resume)
    : ledger_(ledger),
      staging_(target, overwrite, resume),
      keeps_stages_(!resume.fingerprint.empty()) {}

// The note of a stage is the manifest as it stands after it, written beside and renamed: it is
// whole or not there, and what it names was flushed before.
void DatasetWriter::stage(const std::string& name, const std::function<void()>& produce) {
  if (!keeps_stages_) return produce();
  const fs::path note = staging_.notes() / fmt::format("{:06}-{}", stages_++, name);
  if (staging_.resumed() && fs::exists(note)) {
    const std::string text = read_text_file(note, kMaxNoteBytes).or_throw();
    manifest_ = Manifest::from_text(text, note.string()).or_throw();
    bytes_ = 0;
    for (const auto& [path, entry] : manifest_.files) bytes_ += entry.bytes;
    ++taken_over_;
    return;
  }
  produce();
  const fs::path half(note.string() + ".half");
  const std::string text = manifest_.to_text();
  File file = File::create(half).or_throw();
  file.write_at(0, std::as_bytes(std::span(text))).or_throw();
  file.sync().or_throw();
  file.close().or_throw();
  std::error_code problem;
  fs::rename(half, note, problem);
  if (problem) throw system_error(problem.value(), "cannot note a finished stage", note);
}

std::unique_ptr<DataFileWriter> DatasetWriter::create(const std::string& path) {
  if (manifest_.files.contains(path)) refuse_twice(path);
  return std::make_unique<DataFileWriter>(staging_.path(), path, ledger_);
}

void DatasetWriter::add(std::unique_ptr<DataFileWriter> file) {
  FileEntry entry = file->finish();
  bytes_ += entry.bytes;
  manifest_.files.emplace(entry.path, std::move(entry));
}

void DatasetWriter::adopt(const fs::path& dataset, const FileEntry& entry) {
  if (manifest_.files.contains(entry.path)) refuse_twice(entry.path);
  link_or_copy(dataset / entry.path, staging_.path() / entry.path);
  link_or_copy(dataset / sum_path(entry.path), staging_.path() / sum_path(entry.path));
  bytes_ += entry.bytes;
  manifest_.files.emplace(entry.path, entry);
}

void DatasetWriter::share(const std::string& path, const std::string& as) {
  FileEntry shared = entry(path);
  for (const auto& [from, to] : {std::pair{path, as}, {sum_path(path), sum_path(as)}}) {
    std::error_code gone;
    fs::remove(staging_.path() / to, gone);  // what a killed stage left
    link_or_copy(staging_.path() / from, staging_.path() / to);
  }
  bytes_ += shared.bytes;
  shared.path = as;
  manifest_.files.emplace(as, std::move(shared));
}

void DatasetWriter::commit(std::string created_by) {
  manifest_.created_by = std::move(created_by);
  const std::string text = manifest_.to_text();
  File file = File::create(staging_.path() / kManifestName).or_throw();
  file.write_at(0, std::as_bytes(std::span(text))).or_throw();
  file.sync().or_throw();
  file.close().or_throw();
  staging_.commit();
}

}  // namespace sluice
