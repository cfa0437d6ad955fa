/* == softmax == */

static void softmax(double *scores)
{
    double largest = scores[0], sum = 0.0;
    int y;
    for (y = 1; y < N_CLASSES; ++y)
        if (scores[y] > largest) largest = scores[y];
    for (y = 0; y < N_CLASSES; ++y) sum += scores[y] = exp(scores[y] - largest);
    for (y = 0; y < N_CLASSES; ++y) scores[y] /= sum;
}

/* == labels == */

struct label {
    const char *text;
    double code;
};

/* White space as Python has it, in UTF-8. */
static const char *const spaces[] = {SPACES};

/* How many bytes of white space a text of n bytes begins or ends with: one character, or none. */
static size_t find_space(const char *text, size_t n, int at_end)
{
    const char c = n > 0 ? text[at_end ? n - 1 : 0] : '!';
    size_t i;
    if (c > ' ' && c <= '~') return 0;
    for (i = 0; i < sizeof spaces / sizeof *spaces; ++i) {
        const size_t length = strlen(spaces[i]);
        if (length <= n && memcmp(at_end ? text + n - length : text, spaces[i], length) == 0)
            return length;
    }
    return 0;
}

static int is_word(const char *text, size_t n, const char *word)
{
    return strlen(word) == n && memcmp(text, word, n) == 0;
}

/* A whole number is written without a fraction, zero without a sign. */
static void shorten_number(const char **text, size_t *n)
{
    const char *s = *text;
    size_t sign = *n > 0 && s[0] == '-', end = sign;
    while (end < *n && s[end] >= '0' && s[end] <= '9') ++end;
    if (end == sign || end - sign > 15 || (s[sign] == '0' && end - sign > 1)) return;
    if (end != *n && !(end + 2 == *n && s[end] == '.' && s[end + 1] == '0')) return;
    *n = end;
    if (sign && s[sign] == '0') {
        ++*text;
        --*n;
    }
}

/* The code of a text among labels in ascending order. */
static double read_label(const char *text, const struct label *labels, int n_labels, double missing,
                         double unknown)
{
    size_t n, space;
    int low = 0, high = n_labels;
    if (!text) return missing;
    n = strlen(text);
    while ((space = find_space(text, n, 0)) > 0) {
        text += space;
        n -= space;
    }
    while ((space = find_space(text, n, 1)) > 0) n -= space;
    if (is_word(text, n, "true") || is_word(text, n, "TRUE")) text = "True";
    if (is_word(text, n, "false") || is_word(text, n, "FALSE")) text = "False";
    shorten_number(&text, &n);
    while (low < high) {
        const int middle = low + (high - low) / 2;
        int order = strncmp(labels[middle].text, text, n);
        if (order == 0 && labels[middle].text[n]) order = 1;
        if (order == 0) return labels[middle].code;
        if (order < 0) low = middle + 1;
        else high = middle;
    }
    return unknown;
}

/* == numbers == */

static double read_number(double number, const double *marks, int n_marks, double missing)
{
    int i;
    for (i = 0; i < n_marks; ++i)
        if (number == marks[i]) return missing;
    return number == number ? number : missing;
}
