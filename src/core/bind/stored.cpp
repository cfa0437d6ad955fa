// Bindings of the kernels of src/core/stored, and values of Python read from the JSON and the
// arrays of a file, as priorwise.common.stored.values describes them.
#include <nanobind/nanobind.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "bind/shared/arrays.hpp"
#include "bind/shared/checks.hpp"
#include "bind/shared/define.hpp"
#include "stored/block_hash.hpp"
#include "stored/checks.hpp"
#include "stored/json_text.hpp"
#include "stored/xxhash3.hpp"

namespace priorwise {
namespace {

std::uint64_t hash_bytes(Vector<std::uint8_t> data) {
    const nb::gil_scoped_release release;
    return Xxhash3::hash(data);
}

// A hash that is begun, and the array that it is of.
struct BegunHash {
    std::unique_ptr<Vector<std::uint8_t>> data;
    std::unique_ptr<BlockHash> hash;

    std::uint64_t digest() {
        return without_gil([&] { return hash->digest(); });
    }
};

BegunHash begin_hash(Vector<std::uint8_t> data, std::int64_t block_size) {
    check_at_least(block_size, 1, "block_size");
    auto kept = std::make_unique<Vector<std::uint8_t>>(std::move(data));
    auto hash = std::make_unique<BlockHash>(*kept, static_cast<std::size_t>(block_size));
    return {std::move(kept), std::move(hash)};
}

bool are_distributions_of(std::variant<Matrix<double>, Matrix<float>> rows, double tolerance) {
    return std::visit(
        [&]<class T>(const Array<const T, 2>& matrix) {
            const nb::gil_scoped_release release;
            return are_distributions(std::span<const T>(matrix), matrix.shape(1), tolerance);
        },
        rows);
}

bool are_within_of(std::variant<Vector<double>, Vector<float>> numbers, double least, double most) {
    return std::visit(
        [&]<class T>(const Array<const T, 1>& vector) {
            return are_within(std::span<const T>(vector), least, most);
        },
        numbers);
}

nb::object owned(PyObject* object) {
    if (object == nullptr) throw nb::python_error();
    return nb::steal(object);
}

// Only lone halves of pairs, which are written as escapes, are no valid UTF-8.
nb::object to_text(const JsonText::String& text) {
    auto* decoded =
        PyUnicode_DecodeUTF8(text.bytes.data(), static_cast<Py_ssize_t>(text.bytes.size()),
                             text.has_escapes ? "surrogatepass" : "strict");
    if (decoded == nullptr && PyErr_ExceptionMatches(PyExc_UnicodeDecodeError)) {
        PyErr_Clear();
        refuse("a text is no valid UTF-8");
    }
    return owned(decoded);
}

// The begin of a text as Python would write it in ASCII, for a message.
std::string shown(const nb::object& text) {
    return nb::cast<std::string>(owned(PyObject_ASCII(text.ptr()))).substr(0, 40);
}

class ValueReader {
  public:
    ValueReader(std::string_view text, const nb::dict& arrays, const nb::dict& states,
                std::int64_t max_depth, double most, const nb::object& widen,
                const nb::object& make_other)
        : json_(text),
          states_(states),
          max_depth_(max_depth),
          n_left_(most),
          widen_(widen),
          make_other_(make_other) {
        for (const auto& [name, array] : arrays) {
            require(PyUnicode_Check(name.ptr()), "arrays must have names");
            const auto known = std::ranges::find_if(kTypes, [&](std::string_view type) {
                return PyUnicode_CompareWithASCIIString(name.ptr(), type.data()) == 0;
            });
            require(known != kTypes.end(), "there is an array of an unknown type");
            auto& source = sources_[static_cast<std::size_t>(known - kTypes.begin())];
            source = {nb::borrow(array), static_cast<std::int64_t>(nb::len(array)), 0};
        }
    }

    nb::object read() {
        auto value = read_value(0);
        json_.expect_end();
        for (std::size_t i = 0; i < kTypes.size(); ++i) {
            const auto n_left = sources_[i].size - sources_[i].next;
            require(n_left == 0, n_left, " entries of type ", kTypes[i], " belong to no value");
        }
        return value;
    }

  private:
    // A long array, and which of its entries is the first of the next array.
    struct Source {
        nb::object array;
        std::int64_t size = 0, next = 0;
    };

    static constexpr std::array<std::string_view, 12> kTypes = {"b1", "u1", "i1", "u2", "i2", "f2",
                                                                "u4", "i4", "f4", "u8", "i8", "f8"};

    nb::object read_value(std::int64_t depth) {
        require(depth <= max_depth_, "there are more than ", max_depth_,
                " levels of values inside values");
        switch (json_.peek()) {
            case '{':
                return read_object(depth + 1);
            case '[':
                return read_list(depth + 1);
            case '"':
                return to_text(json_.read_string());
            case 'n':
                json_.expect("null");
                return nb::none();
            case 't':
                json_.expect("true");
                return nb::bool_(true);
            case 'f':
                json_.expect("false");
                return nb::bool_(false);
            default:
                return read_number();
        }
    }

    nb::object read_number() {
        const auto number = json_.read_number();
        std::int64_t whole = 0;
        const auto [end, error] =
            std::from_chars(number.data(), number.data() + number.size(), whole);
        if (end == number.data() + number.size() && error == std::errc())
            return owned(PyLong_FromLongLong(whole));
        const std::string text(number);
        if (text.find_first_of(".eE") == std::string::npos)
            return owned(PyLong_FromString(text.c_str(), nullptr, 10));
        const auto value = nb::float_(nb::str(text.c_str()));
        require(std::abs(nb::cast<double>(value)) <= std::numeric_limits<double>::max(),
                "a number is too large");
        return value;
    }

    nb::list read_list(std::int64_t depth) {
        nb::list list;
        json_.for_entries('[', ']', [&] { list.append(read_value(depth)); });
        return list;
    }

    // An object has one key, which says what it stands for.
    nb::object read_object(std::int64_t depth) {
        json_.expect('{');
        const std::string what(json_.read_string().bytes);
        json_.expect(':');
        auto value = read_kind(what, depth);
        json_.expect('}');
        return value;
    }

    nb::object read_kind(const std::string& what, std::int64_t depth) {
        if (what == "record") return read_record(depth);
        if (what == "array") return keep(read_array(true));
        if (what == "state") return keep(read_state(depth));
        if (what == "arrays") return read_arrays(true);
        if (what == "shared") {
            const auto number = json_.read_length();
            require(number < std::ssize(shared_),
                    "a value that was read before must have a number");
            return shared_[static_cast<std::size_t>(number)];
        }
        if (what == "tuple") {
            const auto list = read_list(depth);
            nb::object tuple = owned(PyList_AsTuple(list.ptr()));
            if (nb::len(list) < 2) return tuple;
            for (const auto item : list)
                if (!PyUnicode_CheckExact(item.ptr())) return tuple;
            return keep(std::move(tuple));
        }
        if (what == "dict") return read_dict(depth);
        auto value = make_other_(to_text({what, true}), read_content(what, depth));
        const bool is_array = what == "objects" || what == "text" || what == "times";
        return is_array ? keep(std::move(value)) : value;
    }

    // What stands for a value that Python makes: an array, a type and an array, a shape and items,
    // or a value.
    nb::object read_content(const std::string& what, std::int64_t depth) {
        if (what == "text" || what == "scalar" || what == "scalars" || what == "bytes")
            return read_array(true);
        if (what == "times")
            return read_pair([&] { return to_text(json_.read_string()); },
                             [&] { return read_array(true); });
        if (what == "objects") {
            nb::list shape;
            return read_pair(
                [&] {
                    read_shape(shape);
                    return shape;
                },
                [&] { return read_list(depth); });
        }
        return read_value(depth);
    }

    template <class First, class Second>
    nb::tuple read_pair(const First& read_first, const Second& read_second) {
        json_.expect('[');
        const nb::object first = read_first();
        json_.expect(',');
        const nb::object second = read_second();
        json_.expect(']');
        return nb::make_tuple(first, second);
    }

    nb::object read_dict(std::int64_t depth) {
        nb::dict dict;
        std::size_t n_entries = 0;
        const auto read = [&] { return read_value(depth); };
        json_.for_entries('[', ']', [&] {
            const auto pair = read_pair(read, read);
            dict[pair[0]] = pair[1];
            ++n_entries;
        });
        require(dict.size() == n_entries, "a dictionary has a key twice");
        return dict;
    }

    nb::object read_record(std::int64_t depth) {
        nb::dict record;
        std::size_t n_entries = 0;
        json_.for_entries('{', '}', [&] {
            auto* name = to_text(json_.read_string()).release().ptr();
            PyUnicode_InternInPlace(&name);
            const auto key = nb::steal(name);
            json_.expect(':');
            record[key] = read_value(depth);
            ++n_entries;
        });
        require(record.size() == n_entries, "a dictionary has a key twice");
        return record;
    }

    nb::object read_state(std::int64_t depth) {
        json_.expect('[');
        const auto name = to_text(json_.read_string());
        const auto state = nb::borrow(PyDict_GetItemWithError(states_.ptr(), name.ptr()));
        if (!state.is_valid())
            refuse("it holds a state ", shown(name), ", which is not expected here");
        json_.expect(',');
        nb::object fields;
        if (json_.skip("{\"arrays\":")) {
            const nb::object takes_narrow = state.attr("takes_narrow");
            fields = read_arrays(PyObject_IsTrue(takes_narrow.ptr()) == 0);
            json_.expect('}');
        } else {
            fields = read_value(depth);
        }
        json_.expect(']');
        return state.attr("from_fields")(fields);
    }

    nb::list read_arrays(bool widen) {
        nb::list list;
        json_.for_entries('[', ']', [&] { list.append(read_array(widen)); });
        return list;
    }

    // The next array at a place: [type, shape], [type, shape, wide] or [type, shape, wide, "sum"].
    nb::object read_array(bool widen) {
        json_.expect('[');
        const auto type = read_type("there is no array of type ");
        auto& source = sources_[type];
        require(source.array.is_valid(), "there is no array of type ", kTypes[type]);
        json_.expect(',');
        const bool is_flat = json_.peek() != '[';
        nb::list shape;
        const auto size = is_flat ? json_.read_length() : read_shape(shape);
        require(size <= source.size - source.next, "an array has more entries than the file");
        const auto begin = std::exchange(source.next, source.next + size);
        nb::object array = owned(PySequence_GetSlice(source.array.ptr(), begin, source.next));
        if (json_.skip(",")) {
            const auto wide = kTypes[read_type("an array cannot be read as the type ")];
            n_left_ -= static_cast<double>(size) * (wide[1] - '0');
            require(n_left_ >= 0.0, "arrays take too much memory once they are widened");
            const nb::str wide_name(wide.data(), wide.size());
            if (json_.skip(","))
                array = widen_(array, wide_name, to_text(json_.read_string()));
            else if (widen)
                array = widen_(array, wide_name);
        }
        json_.expect(']');
        return is_flat ? array : nb::object(array.attr("reshape")(shape));
    }

    std::size_t read_type(const char* message) {
        const auto name = json_.read_string();
        const auto known = std::ranges::find(kTypes, std::string_view(name.bytes));
        if (known == kTypes.end()) refuse(message, shown(to_text(name)));
        return static_cast<std::size_t>(known - kTypes.begin());
    }

    // The lengths of the axes; returns their product, or the largest number if that is larger.
    std::int64_t read_shape(nb::list& shape) {
        constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
        std::int64_t size = 1;
        bool is_empty = false;
        json_.for_entries('[', ']', [&] {
            const auto length = json_.read_length();
            is_empty |= length == 0;
            size = length > 0 && size > kMost / length ? kMost
                                                       : size * std::max<std::int64_t>(length, 1);
            shape.append(length);
        });
        return is_empty ? 0 : size;
    }

    nb::object keep(nb::object value) {
        shared_.push_back(value);
        return value;
    }

    JsonText json_;
    nb::dict states_;
    std::array<Source, kTypes.size()> sources_;
    std::int64_t max_depth_;
    double n_left_;
    nb::object widen_, make_other_;
    std::vector<nb::object> shared_;
};

nb::object read_values(Vector<std::uint8_t> text, nb::object arrays, nb::object states,
                       std::int64_t max_depth, double most, nb::object widen,
                       nb::object make_other) {
    require(PyDict_Check(arrays.ptr()) && PyDict_Check(states.ptr()),
            "arrays and states must be dictionaries");
    // Each level of values inside values takes room on the stack.
    require(max_depth >= 0 && max_depth <= 1000, "max_depth must lie in 0..1000");
    return ValueReader({reinterpret_cast<const char*>(text.data()), text.size()},
                       nb::borrow<nb::dict>(arrays), nb::borrow<nb::dict>(states), max_depth, most,
                       widen, make_other)
        .read();
}

}  // namespace

void bind_stored(nb::module_& m) {
    define(m, "hash_bytes", &hash_bytes, "data");
    nb::class_<BegunHash> hash(m, "BlockHash");
    define_init(hash, "BlockHash", &begin_hash, "data", "block_size");
    hash.def("digest", &BegunHash::digest);
    define(m, "are_distributions", &are_distributions_of, "rows", "tolerance");
    define(m, "are_within", &are_within_of, "numbers", "least", "most");
    define(m, "read_values", &read_values, "text", "arrays", "states", "max_depth", "most", "widen",
           "make_other");
}

}  // namespace priorwise
