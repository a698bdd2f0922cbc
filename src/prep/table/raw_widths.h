// Whether a raw file seems to hold integers or floats of another width than is said: any bytes read
// as numbers of any kind. Private to RawReader.
#pragma once

#include <sluice/dtype.h>

#include <cstdint>
#include <filesystem>
#include <string>

namespace sluice {

/// Looks at some of the file. A sentence; empty where nothing is odd, or it cannot be read.
/// @param header bytes before the first number
std::string raw_width_doubt(const std::filesystem::path& path, DType dtype, std::uint64_t header);

}  // namespace sluice
