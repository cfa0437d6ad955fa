// Nodes of forests, for the bindings that grow them.
#pragma once

#include <utility>
#include <vector>

#include "bind/arrays.hpp"
#include "forests/forest.hpp"

namespace priorwise {

// The nodes as bytes: NumPy sees them as records of the same layout.
inline NumpyVector<std::uint8_t> nodes_to_numpy(std::vector<ForestNode>&& nodes) {
    auto kept = std::make_unique<std::vector<ForestNode>>(std::move(nodes));
    auto* data = reinterpret_cast<std::uint8_t*>(kept->data());
    const auto size = kept->size() * sizeof(ForestNode);
    return NumpyVector<std::uint8_t>(data, {size}, hand_over(kept));
}

}  // namespace priorwise
