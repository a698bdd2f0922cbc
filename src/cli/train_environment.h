// What sluice-train must have in its environment before its libraries are loaded, which is before
// main: so where something is missing, the program starts anew, once. What the user set stays.
//
// Called by train_main(), and by sluice-train itself before the libraries' initialisers are run.
// By one thread.
#pragma once

namespace sluice::cli {

/// Comes back where nothing is missing, and where the program cannot start anew, without /proc.
///
/// Needs nothing that an initialiser makes, not even getenv's environment.
/// @param environment as main's third argument
void fix_environment(char** argv, char** environment);

/// For a program that could not start anew: sets what is missing for those who look later, as MKL
/// does. It is slower beside other work then, and bits may vary between CPUs.
void set_environment(char** environment);

}  // namespace sluice::cli
