// .npy files made of a fuzzer's bytes: as they are, with a header of its own choice, or sound but
// for the values.
#pragma once

#include "fuzz/target.h"

#include <string>

namespace sluice::fuzz {

/// Takes all that is left of the input.
std::string choose_npy(Input& input);

/// @param header of version 1, a line
std::string npy_file(std::string_view header, std::string_view data);

/// One that numpy.save would write.
std::string npy_file(std::string_view descr, std::string_view shape, std::string_view data);

}  // namespace sluice::fuzz
