// Nodes of forests, for the bindings that grow them.
#pragma once

#include <utility>
#include <vector>

#include "bind/arrays.hpp"
#include "forests/forest.hpp"

namespace priorwise {

// The nodes as bytes: NumPy sees them as records of the same layout.
inline NumpyVector<std::uint8_t> nodes_to_numpy(std::vector<ForestNode>&& nodes) {
    auto* kept = new std::vector<ForestNode>(std::move(nodes));
    nb::capsule owner(kept,
                      [](void* p) noexcept { delete static_cast<std::vector<ForestNode>*>(p); });
    return NumpyVector<std::uint8_t>(reinterpret_cast<std::uint8_t*>(kept->data()),
                                     {kept->size() * sizeof(ForestNode)}, owner);
}

}  // namespace priorwise
