// CRC-32 of many bytes, as zlib has it.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace priorwise {

// A few bytes and a start of which zlib's CRC-32 is that of many bytes after `start`: the bytes are
// folded by carry-less products (Gopal et al. 2009) into 16 that leave the same remainder, before
// those of the last block. They are copied where the processor has no such products.
std::pair<std::vector<std::uint8_t>, std::uint32_t> fold_crc32(std::span<const std::uint8_t> bytes,
                                                               std::uint32_t start);

}  // namespace priorwise
