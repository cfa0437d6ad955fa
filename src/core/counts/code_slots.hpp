// Lists of codes in one array, each shifted so that no two lists use the same slot: one look-up
// tells whether a list has a code, and where.
#pragma once

#include <algorithm>
#include <cstdint>
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

}  // namespace priorwise
