# What Doxygen reads instead of a header: the comment at its beginning is the file's, examples in it are code.
1,/^#pragma once/{
s|^//   |///     |
s|^// |/// |
s|^//$|///|
s|^#pragma once|/// @file|
}
