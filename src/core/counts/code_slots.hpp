// Lists of codes in one array, each shifted so that no two lists use the same slot: one look-up
// tells whether a list has a code, and where.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

namespace priorwise {

// List i has the codes code[start[i]] .. code[start[i + 1] - 1], rising. Code v of list i, number n
// in `code`, is at slot shift[i] + v, which has owner i and place n. All slots that any code from
// -1 to n_codes - 1 leads to exist.
struct CodeSlots {
    struct Slot {
        std::int32_t owner = -1;
        std::int32_t place = -1;
    };
    std::vector<std::int32_t> shift;  // per list
    std::vector<Slot> slots;
    std::int32_t n_codes = 0;  // one more than the largest code of any list

    // Place the longest lists first, each at the first shift that is free. Returns nothing if too
    // many slots would stay empty.
    static std::optional<CodeSlots> lay_out(std::span<const std::int32_t> start,
                                            std::span<const std::int32_t> code);
};

inline std::optional<CodeSlots> CodeSlots::lay_out(std::span<const std::int32_t> start,
                                                   std::span<const std::int32_t> code) {
    constexpr std::int64_t kMaxLooks = 16;
    constexpr std::int64_t kMaxSlotsPerCode = 6;
    constexpr std::size_t kFewCodes = 1024;  // so many slots are little memory anyway
    const auto n_lists = static_cast<std::int32_t>(start.size()) - 1;
    CodeSlots result;
    result.shift.assign(static_cast<std::size_t>(n_lists), 1);
    std::vector<std::int32_t> n_longer;  // lists, by length
    std::int32_t largest = -1;           // code
    for (std::int32_t i = 0; i < n_lists; ++i) {
        const auto length = static_cast<std::size_t>(start[i + 1] - start[i]);
        if (length == 0) continue;
        if (length > n_longer.size()) n_longer.resize(length, 0);
        ++n_longer[length - 1];
        largest = std::max(largest, code[start[i + 1] - 1]);
    }
    if (largest > kMaxSlotsPerCode * static_cast<std::int64_t>(code.size() + kFewCodes))
        return std::nullopt;
    result.n_codes = largest + 1;
    std::exclusive_scan(n_longer.rbegin(), n_longer.rend(), n_longer.rbegin(), 0);
    std::vector<std::int32_t> order(static_cast<std::size_t>(n_lists));
    std::int32_t n_ordered = 0;
    for (std::int32_t i = 0; i < n_lists; ++i) {
        if (start[i] == start[i + 1]) continue;
        order[n_longer[start[i + 1] - start[i] - 1]++] = i;
        ++n_ordered;
    }
    order.resize(n_ordered);
    // Lists without codes have shift 1; the first slots are left free for them.
    const std::int64_t n_reserved = result.n_codes + 1;
    const std::int64_t n_max =
        2 * n_reserved + kMaxSlotsPerCode * static_cast<std::int64_t>(code.size());
    auto& slots = result.slots;
    std::int64_t from = n_reserved;  // first slot to try
    bool single = false;
    for (const auto i : order) {
        const auto codes = code.subspan(start[i], start[i + 1] - start[i]);
        if (codes.size() == 1 && !single) {  // these fit into any gap that the others left
            single = true;
            from = n_reserved;
        }
        const auto taken = [&](std::int64_t at) {
            return at < static_cast<std::int64_t>(slots.size()) && slots[at].owner >= 0;
        };
        while (taken(from)) ++from;
        auto at = from;  // of the first code
        const auto fits = [&] {
            return std::ranges::none_of(codes,
                                        [&](std::int32_t v) { return taken(at + v - codes[0]); });
        };
        while (at - from < kMaxLooks && !fits()) ++at;
        if (at - from == kMaxLooks && !fits()) {
            from = at = std::max(from, static_cast<std::int64_t>(slots.size()));
        }
        const auto shift = at - codes[0];
        if (at + n_reserved > n_max) return std::nullopt;
        const auto n_needed = at + codes.back() - codes[0] + 1;
        if (n_needed > static_cast<std::int64_t>(slots.size())) slots.resize(n_needed);
        for (std::size_t n = 0; n < codes.size(); ++n)
            slots[shift + codes[n]] = {i, start[i] + static_cast<std::int32_t>(n)};
        result.shift[i] = static_cast<std::int32_t>(shift);
    }
    slots.resize(slots.size() + n_reserved);
    return result;
}

}  // namespace priorwise
