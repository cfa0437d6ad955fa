// The hash of long data, which other threads find while this one goes on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/parallel.hpp"
#include "stored/xxhash3.hpp"

namespace priorwise {

// The hash of the hashes of blocks, each eight bytes of which the lowest comes first. The data must
// stay where they are until this is deleted.
class BlockHash {
  public:
    BlockHash(std::span<const std::uint8_t> data, std::size_t block_size)
        : data_(data),
          block_size_(block_size),
          hashes_(8 * ((data.size() + block_size - 1) / block_size)),
          work_(
              std::ssize(hashes_) / 8,
              [](void* self, std::int64_t i) { static_cast<BlockHash*>(self)->hash_block(i); },
              this) {
        work_.call_workers(threads_for(std::ssize(data) / 8, kThreads) - 1);
    }
    ~BlockHash() {
        work_.stop();
        wait();
    }
    BlockHash(const BlockHash&) = delete;
    BlockHash& operator=(const BlockHash&) = delete;

    std::uint64_t digest() {
        if (!is_over_) {
            is_over_ = true;
            work_.finish();
        }
        return Xxhash3::hash(hashes_);
    }

  private:
    static constexpr int kThreads = 4;

    void wait() noexcept {
        try {
            digest();
        } catch (...) {
            // Nobody asks for it any more.
        }
    }

    void hash_block(std::int64_t i) {
        const auto begin = static_cast<std::size_t>(i) * block_size_;
        const auto h =
            Xxhash3::hash(data_.subspan(begin, std::min(block_size_, data_.size() - begin)));
        for (std::size_t k = 0; k < 8; ++k)
            hashes_[8 * static_cast<std::size_t>(i) + k] = static_cast<std::uint8_t>(h >> (8 * k));
    }

    std::span<const std::uint8_t> data_;
    std::size_t block_size_;
    std::vector<std::uint8_t> hashes_;
    SharedWork work_;
    bool is_over_ = false;
};

}  // namespace priorwise
