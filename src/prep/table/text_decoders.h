// TextDecoder: a compressed file as the bytes that were compressed: gzip (several members one after
// the other) and zstd (several frames). Used by one thread; the ledger outlives it.
#pragma once

#include "storage/io/file.h"

#include <sluice/memory.h>

#include <cstddef>
#include <memory>
#include <span>

namespace sluice {

class TextDecoder {
 public:
  TextDecoder() = default;
  TextDecoder(const TextDecoder&) = delete;
  TextDecoder& operator=(const TextDecoder&) = delete;
  virtual ~TextDecoder() = default;

  /// The next bytes into `out`, at least one; 0 at the end. Throws Error(kData) with the offset in
  /// the file where that is damaged or cut short. @pre `out` is not empty
  virtual std::size_t decode(std::span<std::byte> out) = 0;
};

std::unique_ptr<TextDecoder> make_gzip_decoder(File file, MemoryLedger& ledger);
std::unique_ptr<TextDecoder> make_zstd_decoder(File file, MemoryLedger& ledger);

}  // namespace sluice
