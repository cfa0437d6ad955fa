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

static int is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= 0x1f);
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

/* The code of a text among labels in ascending order; -1 if training did not have it. */
static double read_label(const char *text, const struct label *labels, int n_labels, double missing)
{
    size_t n;
    int low = 0, high = n_labels;
    if (!text) return missing;
    while (is_space(*text)) ++text;
    for (n = strlen(text); n > 0 && is_space(text[n - 1]);) --n;
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
    return -1.0;
}

/* == numbers == */

static double read_number(double number, const double *marks, int n_marks, double missing)
{
    int i;
    for (i = 0; i < n_marks; ++i)
        if (number == marks[i]) return missing;
    return number == number ? number : missing;
}

/* == hard trees == */

/* Nodes compare ranks: places of numbers among the thresholds of their feature. Of a source, the
   lowest bit says whether ranks must be equal for the second child, or else greater; the others are
   the place of the row's rank. The children of a node are beside each other; a leaf has ~row. */
struct ranked_node {
    rank_t rank, source;
    int32_t child;
};

/* Three ranks of each feature: missing is below all, above all; and the last unless it is equal. */
static void rank_row(const double *x, const int32_t *features, const int32_t *n_thresholds,
                     int n_features, const double *thresholds, rank_t *ranks)
{
    const rank_t none = (rank_t)-1;
    int i;
    for (i = 0; i < n_features; ++i, ranks += 3) {
        const double value = x[features[i]];
        const double *first = thresholds;
        int32_t n = n_thresholds[i];
        rank_t rank;
        while (n > 1) {
            const int32_t half = n / 2;
            first += first[half - 1] < value ? half : 0;
            n -= half;
        }
        first += *first < value;
        rank = (rank_t)(first - thresholds);
        ranks[0] = rank;
        ranks[1] = value == value ? rank : none;
        ranks[2] = (int32_t)rank < n_thresholds[i] && *first == value ? rank : none;
        thresholds += n_thresholds[i];
    }
}

/* The next node of a row, without a branch, which would often be guessed wrong; leaves stay. */
static int32_t step_down(const struct ranked_node *nodes, int32_t at, const rank_t *ranks)
{
    const struct ranked_node *node = nodes + at;
    const rank_t rank = ranks[node->source >> 1];
    const int second = (rank >= node->rank) & ((rank == node->rank) == (node->source & 1));
    const int32_t is_leaf = -(node->child < 0);
    return (at & is_leaf) | ((node->child + second) & ~is_leaf);
}

/* Four trees take a step before any takes the next, so that their waits for memory overlap. The
   roots are the first nodes, and leaves alone have a negative child. */
static void add_trees(const struct ranked_node *nodes, int n_trees,
                      const float (*values)[N_CLASSES], const rank_t *ranks, double *sums)
{
    int32_t first, y;
    for (y = 0; y < N_CLASSES; ++y) sums[y] = 0.0;
    for (first = 0; first + 4 <= n_trees; first += 4) {
        int32_t a = first, b = first + 1, c = first + 2, d = first + 3;
        while ((nodes[a].child & nodes[b].child & nodes[c].child & nodes[d].child) >= 0) {
            a = step_down(nodes, a, ranks);
            b = step_down(nodes, b, ranks);
            c = step_down(nodes, c, ranks);
            d = step_down(nodes, d, ranks);
        }
        for (y = 0; y < N_CLASSES; ++y) {
            sums[y] += (double)values[~nodes[a].child][y];
            sums[y] += (double)values[~nodes[b].child][y];
            sums[y] += (double)values[~nodes[c].child][y];
            sums[y] += (double)values[~nodes[d].child][y];
        }
    }
    for (; first < n_trees; ++first) {
        int32_t at = first;
        while (nodes[at].child >= 0) at = step_down(nodes, at, ranks);
        for (y = 0; y < N_CLASSES; ++y) sums[y] += (double)values[~nodes[at].child][y];
    }
}

/* == soft tree == */

/* A value that is less than the threshold, equal, missing or greater goes to the second child if
   bit 0, 1, 2 or 3 of `way` is set. A child is a node, or ~row of a leaf. */
struct node {
    double threshold, bandwidth;
    int32_t below, above, feature, way;
};

static int32_t next_node(const struct node *node, const double *x)
{
    const double value = x[node->feature];
    const int order = 2 * !(value <= node->threshold) + (value >= node->threshold);
    return node->way >> order & 1 ? node->above : node->below;
}

/* At a threshold with a bandwidth a row goes both ways, weighted by its distance to the threshold;
   the rows of the leaves are averaged. */
static void blend_tree(const struct node *nodes, int32_t root, const double (*values)[N_CLASSES],
                       const double *x, double *sums)
{
    int32_t stack[SOFT_STACK];
    double weight[SOFT_STACK];
    int n_parts = 1, y;
    for (y = 0; y < N_CLASSES; ++y) sums[y] = 0.0;
    stack[0] = root;
    weight[0] = 1.0;
    while (n_parts > 0) {
        const int32_t at = stack[--n_parts];
        const double part = weight[n_parts];
        const struct node *node = nodes + at;
        double distance, above;
        if (at < 0) {
            for (y = 0; y < N_CLASSES; ++y) sums[y] += part * values[~at][y];
            continue;
        }
        distance = x[node->feature] - node->threshold;
        if (!(node->bandwidth > 0.0) || part < 1e-4 || distance != distance) {
            stack[n_parts] = next_node(node, x);
            weight[n_parts++] = part;
            continue;
        }
        above = 0.5 * erfc(-(distance / node->bandwidth) / 1.4142135623730951);
        if (above >= 1e-6) {
            stack[n_parts] = node->above;
            weight[n_parts++] = part * (above > 1.0 - 1e-6 ? 1.0 : above);
        }
        if (above <= 1.0 - 1e-6) {
            stack[n_parts] = node->below;
            weight[n_parts++] = part * (above < 1e-6 ? 1.0 : 1.0 - above);
        }
    }
}

/* == normalise == */

static void normalise(double *proba)
{
    double sum = 0.0;
    int y;
    for (y = 0; y < N_CLASSES; ++y) sum += proba[y];
    for (y = 0; y < N_CLASSES; ++y) proba[y] /= sum;
}

/* == networks == */

/* log p(x | class, parents): contexts of parent values, with entries for the classes that have rows
   there, with cells of outcomes. A class without an entry has that of the context above; an outcome
   that has no cell has the `rest` of the entry. Numbers are places from the factor's first on; a
   context and an entry end where the next one begins. */
struct factor {
    int32_t column, n_outcomes, n_parents, is_dense, rest_towards_parent;
    int32_t path, context, cell, entry;
};

struct context {
    int32_t value, child, entry;
};

struct entry {
    int32_t cell, class;
    float rest;
};

struct cell {
    int32_t outcome;
    float score;
};

enum { AT_ONCE = 16 };

struct networks {
    const struct factor *factors;
    const int32_t *path;
    const struct context *contexts;
    const struct entry *entries;
    const struct cell *cells;
};

/* The child of a context with a value. Values of children rise from zero on, so that it is at most as
   far from the first child as its value is. */
static int32_t find_child(const struct context *contexts, int32_t parent, int32_t value)
{
    const int32_t first = contexts[parent].child, n = contexts[parent + 1].child - first;
    int32_t i = value < n ? value : n - 1;
    while (i >= 0 && contexts[first + i].value > value) --i;
    return i >= 0 && contexts[first + i].value == value ? first + i : -1;
}

/* Add the score of outcome v at an entry; return whether the entry above has a part in it too. */
static int add_score(const struct factor *f, const struct entry *entries,
                     const struct cell *cells, int32_t entry, int32_t v, double *sum)
{
    const struct cell *first;
    int32_t i, n;
    if (f->is_dense) {
        *sum += (double)cells[entry * f->n_outcomes + v].score;
        return 0;
    }
    first = cells + entries[entry].cell;
    n = entries[entry + 1].cell - entries[entry].cell;
    i = v < n ? v : n - 1;
    while (i >= 0 && first[i].outcome > v) --i;
    if (i >= 0 && first[i].outcome == v) {
        *sum += (double)first[i].score;
        return 0;
    }
    *sum += (double)entries[entry].rest;
    return f->rest_towards_parent;
}

/* The contexts of a row at each level of several factors, and how many there are. All factors take a
   step before any takes the next, so that their waits for memory overlap. */
static void walk_contexts(const struct networks *net, const struct factor *factors, int n_factors,
                          const int32_t *codes, int32_t (*walked)[MAX_LEVELS], int *n_walked)
{
    int i, level, n_walking = n_factors;
    for (i = 0; i < n_factors; ++i) {
        walked[i][0] = 0;
        n_walked[i] = 1;
    }
    for (level = 0; level + 1 < MAX_LEVELS && n_walking > 0; ++level) {
        n_walking = 0;
        for (i = 0; i < n_factors; ++i) {
            const struct factor *f = factors + i;
            int32_t child;
            if (n_walked[i] <= level || level >= f->n_parents) continue;
            child = find_child(net->contexts + f->context, walked[i][level],
                               codes[net->path[f->path + level]]);
            walked[i][level + 1] = child;
            n_walked[i] += child >= 0;
            ++n_walking;
        }
    }
}

/* From the deepest context of the row, up to the first that answers for each class. */
static void add_factor(const struct networks *net, const struct factor *f, const int32_t *walked,
                       int n_walked, int32_t v, double *joint)
{
    const struct context *contexts = net->contexts + f->context;
    const struct entry *entries = net->entries + f->entry;
    const struct cell *cells = net->cells + f->cell;
    int is_open[N_CLASSES];
    int n_open = N_CLASSES, y;
    int32_t e;
    for (y = 0; y < N_CLASSES; ++y) is_open[y] = 1;
    while (n_walked-- > 0 && n_open > 0) {
        const struct context *context = contexts + walked[n_walked];
        for (e = context[1].entry - 1; e >= context[0].entry && e > 0; --e) {
            y = entries[e].class;
            if (!is_open[y]) continue;
            is_open[y] = add_score(f, entries, cells, e, v, joint + y);
            n_open -= !is_open[y];
        }
    }
    for (y = 0; y < N_CLASSES && n_open > 0; ++y)
        if (is_open[y]) add_score(f, entries, cells, 0, v, joint + y);
}

static void find_joint(const struct networks *net, int first, int last, const double *log_prior,
                       const int32_t *codes, double *joint)
{
    int32_t walked[AT_ONCE][MAX_LEVELS], entry[AT_ONCE];
    int n_walked[AT_ONCE], i, y;
    for (y = 0; y < N_CLASSES; ++y) joint[y] = log_prior[y];
    for (; first < last; first += AT_ONCE) {
        const struct factor *factors = net->factors + first;
        const int n = last - first < AT_ONCE ? last - first : AT_ONCE;
        walk_contexts(net, factors, n, codes, walked, n_walked);
        for (i = 0; i < n; ++i) {
            const struct factor *f = factors + i;
            entry[i] = net->contexts[f->context + walked[i][n_walked[i] - 1]].entry;
            PREFETCH(net->entries + f->entry + entry[i]);
        }
        for (i = 0; i < n; ++i) {
            const struct factor *f = factors + i;
            PREFETCH(net->cells + f->cell
                     + (f->is_dense ? entry[i] * f->n_outcomes
                                    : net->entries[f->entry + entry[i]].cell));
        }
        for (i = 0; i < n; ++i) {
            const int32_t v = codes[factors[i].column];
            if (v >= 0) add_factor(net, factors + i, walked[i], n_walked[i], v, joint);
        }
    }
}

/* A row that is impossible in all classes gets their prior. */
static void normalise_joint(const double *log_prior, double *joint)
{
    int y, impossible = 1;
    for (y = 0; y < N_CLASSES; ++y) impossible &= isinf(joint[y]) != 0;
    for (y = 0; y < N_CLASSES && impossible; ++y) joint[y] = log_prior[y];
    softmax(joint);
}

/* Labels are codes already; a number is how many cut points lie below it. */
static void cut_numbers(const double *x, const int32_t *numeric, const int32_t *has_missing,
                        const int32_t *n_cuts, int n_numeric, const double *cuts, int32_t *codes)
{
    int i;
    for (i = 0; i < N_FEATURES; ++i) codes[i] = x[i] == x[i] && fabs(x[i]) < 1e9 ? (int32_t)x[i] : 0;
    for (i = 0; i < n_numeric; ++i) {
        const double number = x[numeric[i]];
        int32_t low = 0, high = n_cuts[i];
        while (low < high) {
            const int32_t middle = low + (high - low) / 2;
            if (cuts[middle] < number) low = middle + 1;
            else high = middle;
        }
        codes[numeric[i]] = number == number ? low : has_missing[i] ? n_cuts[i] + 1 : -1;
        cuts += n_cuts[i];
    }
}

/* == mean of networks == */

static void average_networks(const struct networks *net, int n_networks, const int32_t *n_factors,
                             const double (*log_prior)[N_CLASSES], const int32_t *cut_set,
                             const int32_t *numeric, const int32_t *has_missing,
                             const int32_t *n_cuts, const int32_t *first_cut, int n_numeric,
                             const double *cuts, const double *x, double *proba)
{
    int32_t codes[N_FEATURES];
    double joint[N_CLASSES];
    int i, y, first = 0;
    for (y = 0; y < N_CLASSES; ++y) proba[y] = 0.0;
    for (i = 0; i < n_networks; ++i) {
        if (i == 0 || cut_set[i] != cut_set[i - 1])
            cut_numbers(x, numeric, has_missing, n_cuts + cut_set[i] * n_numeric, n_numeric,
                        cuts + first_cut[cut_set[i]], codes);
        find_joint(net, first, first + n_factors[i], log_prior[i], codes, joint);
        normalise_joint(log_prior[i], joint);
        for (y = 0; y < N_CLASSES; ++y) proba[y] += joint[y] / n_networks;
        first += n_factors[i];
    }
}

/* == sum of networks == */

static double add_logs(double a, double b)
{
    const double largest = a > b ? a : b;
    return isinf(largest) ? largest : largest + log1p(exp((a > b ? b : a) - largest));
}

/* The sum of the joint probabilities of the networks whose guard the row passes; if there are none,
   the last network answers. */
static void add_networks(const struct networks *net, int n_networks, const int32_t *n_factors,
                         const double (*log_prior)[N_CLASSES], const int32_t *numeric,
                         const int32_t *has_missing, const int32_t *n_cuts, int n_numeric,
                         const double *cuts, const int32_t *guard, const double *x, double *proba)
{
    int32_t codes[N_FEATURES];
    double joint[N_CLASSES];
    int i, y, first = 0, n_used = 0;
    cut_numbers(x, numeric, has_missing, n_cuts, n_numeric, cuts, codes);
    for (i = 0; i + 1 < n_networks; ++i) {
        const struct factor *own = net->factors + first;
        const int32_t code = codes[own->column];
        if (code >= 0 && guard[code]) {
            find_joint(net, first, first + n_factors[i], log_prior[i], codes, joint);
            for (y = 0; y < N_CLASSES; ++y)
                proba[y] = n_used > 0 ? add_logs(proba[y], joint[y]) : joint[y];
            ++n_used;
        }
        guard += own->n_outcomes;
        first += n_factors[i];
    }
    if (n_used == 0) find_joint(net, first, first + n_factors[i], log_prior[i], codes, proba);
    normalise_joint(log_prior[0], proba);
}

/* == standardise == */

static double standardise(double number, double mean, double scale, double most)
{
    const double z = (number - mean) / scale;
    return z != z ? 0.0 : z > most ? most : z < -most ? -most : z;
}

/* == terms == */

static void add_terms(const double *terms, double *scores)
{
    int y;
    for (y = 0; y < N_CLASSES; ++y) scores[y] += terms[y];
}

/* == terms of labels == */

static void add_label(double x, const double (*terms)[N_CLASSES], int n_labels, double *scores)
{
    if (x >= 0.0 && x < n_labels) add_terms(terms[(int)x], scores);
}

/* == terms of numbers == */

/* a + b u + c u^2 with u = z - left, of the piece that the standardised number z is in. */
static void add_piece(double x, double z, const double *missing, const double *first_value,
                      const double *left, const double (*coefficient)[3][N_CLASSES], int n_pieces,
                      double *scores)
{
    int piece = 0, p, y;
    double u;
    if (x != x) add_terms(missing, scores);
    for (p = 1; p < n_pieces; ++p) piece += z >= first_value[p];
    u = z - left[piece];
    for (y = 0; y < N_CLASSES; ++y)
        scores[y] += coefficient[piece][0][y]
                     + (coefficient[piece][1][y] + coefficient[piece][2][y] * u) * u;
}

/* == kernel == */

/* Weighted sums of a Gaussian kernel to landmarks: codes and values have a row for each landmark. */
static void add_landmarks(const int32_t *row_codes, const float *row_values, int n_codes,
                          int n_values, const int32_t *codes, const float *values, int n_landmarks,
                          double rate, const double (*coefficient)[N_CLASSES], double *scores)
{
    int l, i, y;
    for (l = 0; l < n_landmarks; ++l, codes += n_codes, values += n_values) {
        int n_labels = 0;
        double distance, likeness;
        for (i = 0; i < n_codes; ++i) {
            n_labels += (row_codes[i] >= 0) + (codes[i] >= 0);
            if (row_codes[i] >= 0 && row_codes[i] == codes[i]) n_labels -= 2;
        }
        distance = n_labels;
        for (i = 0; i < n_values; ++i) {
            const double step = (double)row_values[i] - (double)values[i];
            distance += step * step;
        }
        likeness = exp(-(rate * distance > 708.0 ? 708.0 : rate * distance));
        for (y = 0; y < N_CLASSES; ++y) scores[y] += coefficient[l][y] * likeness;
    }
}

/* == pool == */

static void add_member(const double *proba, double weight, double least, double *scores)
{
    int y;
    for (y = 0; y < N_CLASSES; ++y)
        scores[y] += weight * log(proba[y] > least ? proba[y] : least);
}
