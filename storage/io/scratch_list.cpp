#include "storage/io/scratch_list.h"

#include <algorithm>
#include <cstring>

namespace sluice {
namespace {

constexpr std::size_t kBufferBytes = 256 * 1024;

template <class Stored, class T>
void convert_in(std::span<const T> numbers, std::byte* to) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto stored = static_cast<Stored>(numbers[i]);
    std::memcpy(to + i * sizeof(Stored), &stored, sizeof(Stored));
  }
}

template <class Stored, class T>
void convert_out(const std::byte* from, std::span<T> out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    Stored stored;
    std::memcpy(&stored, from + i * sizeof(Stored), sizeof(Stored));
    out[i] = static_cast<T>(stored);
  }
}

}  // namespace

ScratchList::ScratchList(const std::filesystem::path& folder, std::size_t width)
    : file_(File::scratch(folder).or_throw()), width_(width), buffer_(kBufferBytes) {}

void ScratchList::reserve(std::uint64_t numbers) {
  if (numbers <= reserved_) return;
  file_.reserve(numbers * width_, reserved_ * width_).or_throw();
  reserved_ = numbers;
}

void ScratchList::give_back_room() {
  if (reserved_ <= size_) return;
  file_.reserve(size_ * width_, size_ * width_).or_throw();
  reserved_ = size_;
}

template <class T>
void ScratchList::put(std::uint64_t at, std::span<const T> numbers) {
  const std::size_t most = buffer_.size() / width_;
  while (!numbers.empty()) {
    const auto piece = numbers.first(std::min(most, numbers.size()));
    if (width_ == 2) convert_in<std::uint16_t>(piece, buffer_.data());
    if (width_ == 4) convert_in<std::uint32_t>(piece, buffer_.data());
    if (width_ == 8) convert_in<std::uint64_t>(piece, buffer_.data());
    const std::span<const std::byte> bytes(buffer_.data(), piece.size() * width_);
    file_.write_at(at * width_, bytes).or_throw();
    bytes_written_ += bytes.size();
    at += piece.size();
    numbers = numbers.subspan(piece.size());
  }
}

template <class T>
void ScratchList::get(std::uint64_t at, std::span<T> out) {
  const std::size_t most = buffer_.size() / width_;
  while (!out.empty()) {
    const auto piece = out.first(std::min(most, out.size()));
    const std::span<std::byte> bytes(buffer_.data(), piece.size() * width_);
    file_.read_at(at * width_, bytes).or_throw();
    bytes_read_ += bytes.size();
    if (width_ == 2) convert_out<std::uint16_t>(buffer_.data(), piece);
    if (width_ == 4) convert_out<std::uint32_t>(buffer_.data(), piece);
    if (width_ == 8) convert_out<std::uint64_t>(buffer_.data(), piece);
    at += piece.size();
    out = out.subspan(piece.size());
  }
}

void ScratchList::append(std::span<const std::uint64_t> numbers) {
  put(size_, numbers);
  size_ += numbers.size();
}
void ScratchList::append(std::span<const std::uint32_t> numbers) {
  put(size_, numbers);
  size_ += numbers.size();
}
void ScratchList::write(std::uint64_t at, std::span<const std::uint32_t> numbers) {
  put(at, numbers);
}
void ScratchList::read(std::uint64_t at, std::span<std::uint64_t> out) {
  get(at, out);
}
void ScratchList::read(std::uint64_t at, std::span<std::uint32_t> out) {
  get(at, out);
}

}  // namespace sluice
