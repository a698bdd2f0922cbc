#include "storage/io/scratch_pages.h"

#include "storage/io/block_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace sluice {
namespace {

constexpr std::uint64_t kMostRead = std::uint64_t{1} << 20;  // bytes a request
constexpr std::size_t kReadDepth = 64;

std::uint64_t page_begin(std::uint64_t at) {
  return at / kPageBytes * kPageBytes;
}

}  // namespace

ScratchPages::ScratchPages(const std::filesystem::path& folder, std::uint64_t piece_bytes)
    : file_(std::make_shared<File>(File::scratch(folder, Direct::kAuto).or_throw())) {
  for (AlignedBuffer& buffer : buffers_)
    buffer = AlignedBuffer::make(memory_for(piece_bytes) / 2, nullptr, "scratch").or_throw();
}

std::span<std::byte> ScratchPages::place(std::uint64_t bytes) {
  if (held_ + bytes > buffers_[filling_].size()) write_out();
  const std::span<std::byte> place = buffers_[filling_].bytes().subspan(held_, bytes);
  held_ += bytes;
  return place;
}

// All whole pages; the rest goes on in the other buffer.
void ScratchPages::write_out() {
  side_.wait();
  const std::span<const std::byte> pages = buffers_[filling_].bytes().first(page_begin(held_));
  filling_ = 1 - filling_;
  held_ -= pages.size();
  std::memcpy(buffers_[filling_].data(), pages.data() + pages.size(), held_);
  side_.begin([this, pages, at = written_] { file_->write_at(at, pages).or_throw(); });
  written_ += pages.size();
}

void ScratchPages::finish() {
  side_.wait();
  const std::uint64_t rest = round_up_to_page(held_);
  file_->write_at(written_, buffers_[filling_].bytes().first(rest)).or_throw();
  for (AlignedBuffer& buffer : buffers_) buffer = {};
}

struct ScratchPieces::Half {
  std::shared_ptr<AlignedBuffer> buffer;
  FileSlot file;
  BufferSlot slot;
  std::vector<BlockRead> reads;
  std::vector<std::span<const std::byte>> pieces;

  /// @return bytes that are read
  std::uint64_t lay_out(std::span<const Piece> wanted) {
    reads.clear();
    pieces.clear();
    std::uint64_t filled = 0;
    for (const Piece& piece : wanted) {
      const std::uint64_t first = page_begin(piece.offset);
      const std::uint64_t last =
          piece.bytes == 0 ? first : round_up_to_page(piece.offset + piece.bytes);
      pieces.push_back(buffer->bytes().subspan(filled + (piece.offset - first), piece.bytes));
      for (std::uint64_t at = first; at < last; at += kMostRead) {
        const std::uint64_t length = std::min(kMostRead, last - at);
        reads.push_back({file, slot, static_cast<std::uint32_t>(length), at, filled});
        filled += length;
      }
    }
    return filled;
  }
};

ScratchPieces::ScratchPieces(const ScratchPages& pages, std::uint64_t buffer_bytes) {
  IoEngineOptions options;
  options.depth = kReadDepth;
  reader_ = std::make_unique<BlockReader>(make_io_engine(options).or_throw().engine);
  const FileSlot file = reader_->attach(pages.file_).or_throw();
  for (auto& half : halves_) {
    half = std::make_unique<Half>();
    half->file = file;
    half->buffer = std::make_shared<AlignedBuffer>(
        AlignedBuffer::make(buffer_bytes, nullptr, "scratch").or_throw());
    half->slot = reader_->attach(half->buffer).or_throw();
  }
}

ScratchPieces::~ScratchPieces() = default;

void ScratchPieces::begin(std::span<const Piece> pieces) {
  Half& half = *halves_[reading_];
  for (const Piece& piece : pieces) read_.bytes += piece.bytes;
  read_.pages += half.lay_out(pieces);
  side_.begin([this, &half] { reader_->read(half.reads).or_throw(); });
}

const std::vector<std::span<const std::byte>>& ScratchPieces::next() {
  side_.wait();
  return halves_[std::exchange(reading_, 1 - reading_)]->pieces;
}

}  // namespace sluice
