// JSON that is read from its begin to its end, without a copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/require.hpp"

namespace priorwise {

class JsonText {
  public:
    // UTF-8, but for halves of pairs that stand alone.
    struct String {
        std::string_view bytes;  // of the text, or of what its escapes were replaced in
        bool has_escapes;
    };

    explicit JsonText(std::string_view text) : text_(text) {}

    // The next character that is no space; throws std::invalid_argument at the end.
    char peek() {
        while (at_ < text_.size() && is_space(text_[at_])) ++at_;
        require(at_ < text_.size(), "the JSON ends too early");
        return text_[at_];
    }

    // Whether the next characters are these, which are then behind.
    bool skip(std::string_view expected) {
        if (peek() != expected.front() || !text_.substr(at_).starts_with(expected)) return false;
        at_ += expected.size();
        return true;
    }

    void expect(std::string_view expected) {
        require(skip(expected), "the JSON is wrong at byte ", at_, ": it lacks ", expected);
    }
    void expect(char expected) { expect(std::string_view(&expected, 1)); }

    void expect_end() {
        while (at_ < text_.size() && is_space(text_[at_])) ++at_;
        require(at_ == text_.size(), "the JSON has something behind its end");
    }

    // Calls `read` for every entry, between which there are commas.
    template <class Read>
    void for_entries(char open, char close, const Read& read) {
        expect(open);
        if (skip(std::string_view(&close, 1))) return;
        do read();
        while (skip(","));
        expect(close);
    }

    // The characters of a number; a number in JSON, and some texts like it, such as 01 and 1e.
    std::string_view read_number() {
        peek();
        const auto begin = at_;
        while (at_ < text_.size() && is_of_number(text_[at_])) ++at_;
        require(at_ > begin, "the JSON is wrong at byte ", at_, ": there is no value");
        return text_.substr(begin, at_ - begin);
    }

    // A whole number that is not negative.
    std::int64_t read_length() {
        std::int64_t number = 0;
        const auto digits = read_number();
        require(digits.size() <= 18, "a length is too large");
        for (const char digit : digits) {
            require(digit >= '0' && digit <= '9', "a length must be a whole number");
            number = 10 * number + (digit - '0');
        }
        return number;
    }

    // A text; the next one may take its place if it has escapes.
    String read_string() {
        expect('"');
        const auto begin = at_;
        while (at_ < text_.size() && is_plain(text_[at_])) ++at_;
        if (at_ < text_.size() && text_[at_] == '"')
            return {text_.substr(begin, at_++ - begin), false};
        unescaped_ = text_.substr(begin, at_ - begin);
        for (;;) {
            require(at_ < text_.size(), "the JSON ends inside a text");
            const char one = text_[at_++];
            if (one == '"') return {unescaped_, true};
            require(static_cast<unsigned char>(one) >= 0x20, "a text has a control character");
            if (one == '\\')
                read_escape();
            else
                unescaped_ += one;
        }
    }

  private:
    static bool is_space(char one) {
        return one == ' ' || one == '\n' || one == '\t' || one == '\r';
    }
    static bool is_plain(char one) {
        return one != '"' && one != '\\' && static_cast<unsigned char>(one) >= 0x20;
    }
    static bool is_of_number(char one) {
        return (one >= '0' && one <= '9') || one == '-' || one == '+' || one == '.' || one == 'e' ||
               one == 'E';
    }

    void read_escape() {
        require(at_ < text_.size(), "the JSON ends inside a text");
        constexpr std::string_view kLetters = "\"\\/bfnrt", kMeant = "\"\\/\b\f\n\r\t";
        const char letter = text_[at_++];
        if (letter != 'u') {
            const auto place = kLetters.find(letter);
            require(place != std::string_view::npos, "a text has an unknown escape");
            unescaped_ += kMeant[place];
            return;
        }
        auto point = read_hex();
        // Two halves of a pair are one character.
        if (point >= 0xD800 && point < 0xDC00 && text_.substr(at_).starts_with("\\u")) {
            const auto back = at_;
            at_ += 2;
            const auto second = read_hex();
            if (second >= 0xDC00 && second < 0xE000)
                point = 0x10000 + ((point - 0xD800) << 10) + (second - 0xDC00);
            else
                at_ = back;
        }
        add_point(point);
    }

    std::uint32_t read_hex() {
        require(text_.size() - at_ >= 4, "the JSON ends inside a text");
        std::uint32_t point = 0;
        for (int i = 0; i < 4; ++i) {
            constexpr std::string_view kDigits = "0123456789abcdef";
            const char one = text_[at_++];
            const auto place =
                kDigits.find(one >= 'A' && one <= 'F' ? static_cast<char>(one + 32) : one);
            require(place != std::string_view::npos, "a text has an unknown escape");
            point = 16 * point + static_cast<std::uint32_t>(place);
        }
        return point;
    }

    void add_point(std::uint32_t point) {
        const auto add = [&](std::uint32_t byte) { unescaped_ += static_cast<char>(byte); };
        const auto add_low = [&](int shift) { add(0x80 | (point >> shift & 0x3F)); };
        if (point < 0x80) return add(point);
        if (point < 0x800) {
            add(0xC0 | point >> 6);
            return add_low(0);
        }
        if (point < 0x10000) {
            add(0xE0 | point >> 12);
        } else {
            add(0xF0 | point >> 18);
            add_low(12);
        }
        add_low(6);
        add_low(0);
    }

    std::string_view text_;
    std::size_t at_ = 0;
    std::string unescaped_;
};

}  // namespace priorwise
