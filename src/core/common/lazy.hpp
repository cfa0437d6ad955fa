// A value that is made when it is first needed.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

namespace priorwise {

// Threads may ask for the value at the same time: one makes it. If that throws, the next call tries
// again. Whatever `make` holds lives as long as the value.
template <class T>
class Lazy {
  public:
    explicit Lazy(T value) : state_(std::make_unique<State>()) {
        state_->value = std::move(value);
        std::call_once(state_->once, [] {});
    }
    template <class Make>
        requires std::is_invocable_r_v<T, Make>
    explicit Lazy(Make make) : state_(std::make_unique<State>()) {
        state_->make = std::move(make);
    }

    const T& get() const {
        std::call_once(state_->once, [this] { state_->value = state_->make(); });
        return *state_->value;
    }

  private:
    struct State {
        std::once_flag once;
        std::function<T()> make;
        std::optional<T> value;
    };
    std::unique_ptr<State> state_;
};

}  // namespace priorwise
