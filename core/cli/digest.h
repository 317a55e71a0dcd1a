// A short name for a text that no other text has: SHA-256 (FIPS 180-4) in hexadecimal.
#pragma once
#include <string>
#include <string_view>

namespace tandem {

std::string digest(std::string_view text);

}  // namespace tandem
