// How much a file system still takes, asked before a stage writes, not found out at its end.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace sluice {

/// Bytes that this process may still write on the file system of `folder`.
std::uint64_t free_bytes(const std::filesystem::path& folder);

/// Throws kResource, naming the folder, the need and what is there, where `bytes` do not fit.
/// @param what needs them: "the edges of relation 'a__r__b'"
void require_space(const std::filesystem::path& folder,
                   std::uint64_t bytes,
                   const std::string& what);

}  // namespace sluice
