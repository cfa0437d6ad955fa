// Kernels as functions of Python. Each argument is taken by itself, so that one that does not fit
// is refused by its name. Bindings include this header, which brings all that they share: arrays,
// checks, and the casters of nanobind for results.
#pragma once

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>
#include <variant>

#include "bind/shared/arrays.hpp"
#include "bind/shared/checks.hpp"

namespace priorwise {

// How an argument of a type is taken from Python.
template <class T>
struct Taker {  // numbers, texts, objects of Python
    static constexpr bool kIsClass =
        std::is_class_v<T> && !std::same_as<T, std::string> && !std::derived_from<T, nb::handle>;
    static bool take(nb::handle source, T& out) { return nb::try_cast(source, out); }
    static std::string expected() {
        if constexpr (std::same_as<T, bool>)
            return "True or False";
        else if constexpr (std::integral<T>)
            return join(std::is_signed_v<T> ? "a whole number" : "a natural number", " of ",
                        8 * sizeof(T), " bits");
        else if constexpr (std::floating_point<T>)
            return "a number";
        else if constexpr (std::same_as<T, nb::type_object>)
            return "a class";
        else if constexpr (std::same_as<T, nb::object>)
            return "an object";
        else
            return "a text";
    }
};

template <class T>
struct Taker<const T*> {
    static bool take(nb::handle source, const T*& out) {
        return nb::try_cast(source, out) && out != nullptr;
    }
    static std::string expected() { return nb::cast<std::string>(nb::type<T>().attr("__name__")); }
};

template <class T>
struct Taker<std::shared_ptr<T>> {
    static bool take(nb::handle source, std::shared_ptr<T>& out) {
        return nb::try_cast(source, out) && out != nullptr;
    }
    static std::string expected() { return Taker<const std::remove_const_t<T>*>::expected(); }
};

template <class T, std::size_t N>
struct Taker<Array<T, N>> {
    static bool take(nb::handle source, Array<T, N>& out) { return out.take(source.ptr()); }
    static std::string expected() {
        using Element = std::remove_const_t<T>;
        const char* kind = std::is_floating_point_v<Element> ? "float"
                           : std::is_signed_v<Element>       ? "int"
                                                             : "uint";
        return join(
            "an array",
            std::is_const_v<T> ? ", contiguous" : " that may be written to, contiguous and aligned",
            ", of ", N, N == 1 ? " dimension" : " dimensions", " and type ", kind, 8 * sizeof(T));
    }
};

template <class T>
struct Taker<Numbers<T>> {
    static bool take(nb::handle source, Numbers<T>& out) { return out.take(source.ptr()); }
    static std::string expected() { return Taker<Vector<T>>::expected(); }
};

template <>
struct Taker<Columns> {
    static bool take(nb::handle source, Columns& out) { return out.take(source.ptr()); }
    static std::string expected() {
        return "a list of arrays, contiguous, of 1 dimension and type int32, or one "
               "such array of 2 dimensions";
    }
};

template <class T>
struct Taker<std::optional<T>> {
    static bool take(nb::handle source, std::optional<T>& out) {
        return source.is_none() || Taker<T>::take(source, out.emplace());
    }
    static std::string expected() { return join(Taker<T>::expected(), " or None"); }
};

template <class First, class... More>
struct Taker<std::variant<First, More...>> {
    static bool take(nb::handle source, std::variant<First, More...>& out) {
        return Taker<First>::take(source, out.template emplace<First>()) ||
               (Taker<More>::take(source, out.template emplace<More>()) || ...);
    }
    static std::string expected() {
        return (Taker<First>::expected() + ... + join(", or ", Taker<More>::expected()));
    }
};

template <class T>
struct Taker<std::vector<T>> {
    static bool take(nb::handle source, std::vector<T>& out) {
        if (!PyList_Check(source.ptr()) && !PyTuple_Check(source.ptr())) return false;
        out.reserve(static_cast<std::size_t>(PySequence_Size(source.ptr())));
        // An entry that is converted by its own method may change the list.
        for (Py_ssize_t i = 0; i < PySequence_Size(source.ptr()); ++i) {
            const auto entry = nb::steal(PySequence_GetItem(source.ptr(), i));
            if (!entry.is_valid()) throw nb::python_error();
            if (!Taker<T>::take(entry, out.emplace_back())) return false;
        }
        return true;
    }
    static std::string expected() {
        return join("a list, of which each entry is ", Taker<T>::expected());
    }
};

// What an argument of a kernel is held as: bound objects by their address, all else by value.
template <class T>
concept Bound = requires { requires Taker<T>::kIsClass; };
template <class Arg>
using Held = std::conditional_t<Bound<std::remove_cvref_t<Arg>>, const std::remove_cvref_t<Arg>*,
                                std::remove_cvref_t<Arg>>;

[[noreturn]] void refuse_type(const char* function, const char* name, const std::string& expected,
                              nb::handle given);

// Memory of an array among the arguments.
struct Memory {
    const void *begin, *end;
    const char* name;
    bool written;
};

// List the arrays of an argument of a kernel that writes to some of its arrays.
template <class T>
void list_memory(const T&, const char*, std::vector<Memory>&) {}
template <class T, std::size_t N>
void list_memory(const Array<T, N>& array, const char* name, std::vector<Memory>& list) {
    if (array.size() > 0) list.push_back({array.begin(), array.end(), name, !std::is_const_v<T>});
}
inline void list_memory(const Columns& columns, const char* name, std::vector<Memory>& list) {
    for (const auto column : columns)
        list.push_back({column.data(), column.data() + column.size(), name, false});
}
template <class T>
void list_memory(const std::optional<T>& array, const char* name, std::vector<Memory>& list) {
    if (array) list_memory(*array, name, list);
}
template <class... T>
void list_memory(const std::variant<T...>& array, const char* name, std::vector<Memory>& list) {
    std::visit([&](const auto& held) { list_memory(held, name, list); }, array);
}
template <class T>
void list_memory(const std::vector<T>& arrays, const char* name, std::vector<Memory>& list) {
    for (const auto& array : arrays) list_memory(array, name, list);
}

// Throws ValueError if an array that is written to shares memory with another one.
void check_apart(const char* function, std::vector<Memory>& list);

template <class T>
constexpr bool kIsWritten = false;
template <class T, std::size_t N>
constexpr bool kIsWritten<Array<T, N>> = !std::is_const_v<T>;
template <class T>
constexpr bool kIsWritten<std::vector<T>> = kIsWritten<T>;
template <class First, class... More>
constexpr bool kIsWritten<std::variant<First, More...>> = kIsWritten<First>;

template <class Arg>
decltype(auto) pass(Held<Arg>& held) {
    if constexpr (Bound<std::remove_cvref_t<Arg>>)
        return *held;
    else if constexpr (std::is_lvalue_reference_v<Arg>)
        return (held);
    else
        return std::move(held);
}

// An argument as nanobind, which puts them in order by their names, hands it on.
template <class Arg>
using Given = nb::handle;

template <class Result, class... Args>
struct NamedKernel {
    const char* function;
    Result (*kernel)(Args...);
    std::array<const char*, sizeof...(Args)> names;

    Result operator()(Given<Args>... given) const {
        return call({given...}, std::index_sequence_for<Args...>());
    }

    template <std::size_t... I>
    Result call(const std::array<nb::handle, sizeof...(Args)>& given,
                std::index_sequence<I...>) const {
        std::tuple<Held<Args>...> held;
        const auto take = [&]<std::size_t i>(auto& out) {
            using Argument = Taker<std::remove_cvref_t<decltype(out)>>;
            if (!Argument::take(given[i], out)) [[unlikely]]
                refuse_type(function, names[i], Argument::expected(), given[i]);
        };
        (take.template operator()<I>(std::get<I>(held)), ...);
        if constexpr ((kIsWritten<Held<Args>> || ...)) {
            std::vector<Memory> list;
            (list_memory(std::get<I>(held), names[I], list), ...);
            check_apart(function, list);
        }
        return kernel(pass<Args>(std::get<I>(held))...);
    }

    std::string signature(bool is_by_name = false) const {
        std::string text = join(function, is_by_name ? "(*, " : "(");
        for (std::size_t i = 0; i < names.size(); ++i) text += join(i == 0 ? "" : ", ", names[i]);
        return text + ")";
    }
};

template <class Result, class... Args, class... Names>
NamedKernel<Result, Args...> name_arguments(const char* function, Result (*kernel)(Args...),
                                            Names... names) {
    static_assert(sizeof...(Args) == sizeof...(Names), "one name per argument");
    return {function, kernel, {names...}};
}

// Define a kernel with the names of its arguments, in their order.
template <class Kernel, class... Names>
void define(nb::module_& m, const char* function, Kernel kernel, Names... names) {
    const auto named = name_arguments(function, kernel, names...);
    m.def(function, named, named.signature().c_str(), nb::arg(names).none()...);
}

// Define the constructor of a bound class by a function that makes its value.
template <class T, class... Args, class... Names>
void define_init(nb::class_<T>& bound, const char* name, T (*make)(Args...), Names... names) {
    const auto named = name_arguments(name, make, names...);
    bound.def(
        "__init__", [named](T* self, Given<Args>... given) { new (self) T(named(given...)); },
        named.signature().c_str(), nb::arg(names).none()...);
}

// Define a class that only kernels read. Its constructor takes all arguments by their names.
template <class T, class... Args, class... Names>
void define_rules(nb::module_& m, const char* name, T (*make)(Args...), Names... names) {
    const auto named = name_arguments(name, make, names...);
    nb::class_<T>(m, name).def(
        "__init__", [named](T* self, Given<Args>... given) { new (self) T(named(given...)); },
        named.signature(true).c_str(), nb::kw_only(), nb::arg(names).none()...);
}

// Let Python read members that are vectors, as arrays that may not be written to.
template <class T, class Element, class... More>
void define_arrays(nb::class_<T>& bound, const char* name, std::vector<Element> T::* member,
                   More... more) {
    bound.def_prop_ro(name, [member](const T& object) { return read_only(object.*member); });
    if constexpr (sizeof...(more) > 0) define_arrays(bound, more...);
}

// Whether objects of a class may hold a value of a bound type.
template <class T>
void check_class(const nb::type_object& type, const char* name) {
    const auto bound = nb::type<T>();
    if (!PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type.ptr()),
                          reinterpret_cast<PyTypeObject*>(bound.ptr())))
        refuse_type("class", name, join(Taker<const T*>::expected(), " or a subclass"), type);
}

// Define a class whose objects are pickled and copied as the arguments of their constructor, which
// are attributes too: what is read back is validated again.
template <class T, class... Args, class... Names>
nb::class_<T> define_class(nb::module_& m, const char* name, T (*make)(Args...), Names... names) {
    nb::class_<T> bound(m, name);
    define_init(bound, name, make, names...);
    bound.def("__reduce__", [names...](nb::handle self) {
        return nb::make_tuple(self.type(), nb::make_tuple(self.attr(names)...));
    });
    return bound;
}

// A Python object of the given class, bound or a Python subclass of it, that holds a value.
template <class T>
nb::object make_object(nb::handle type, T&& value) {
    auto object = nb::inst_alloc(type);
    new (nb::inst_ptr<std::remove_cvref_t<T>>(object))
        std::remove_cvref_t<T>(std::forward<T>(value));
    nb::inst_mark_ready(object);
    return object;
}

}  // namespace priorwise
