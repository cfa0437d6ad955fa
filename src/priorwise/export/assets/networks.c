/* == networks == */

/* log p(x | class, parents): contexts of parent values, with entries for the classes that have rows
   there, with cells of outcomes. A class without an entry has that of the context above; an outcome
   that has no cell has the `rest` of the entry. Numbers are places from the factor's first on; a
   context and an entry end where the next one begins. A factor that is fixed has a table of scores
   in units of 2^-24 instead, and for each context and class the row of the table that answers. */
struct factor {
    int32_t column, n_outcomes, n_parents, is_fixed, rest_towards_parent;
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
#define SCORE_UNIT (1.0 / 16777216.0)

struct networks {
    const struct factor *factors;
    const int32_t *path;
    const struct context *contexts;
    const struct entry *entries;
    const struct cell *cells;
    const int32_t *fixed, *answers;
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

/* Add the score of outcome v at an entry of a factor with cells; return whether the entry above has a part in it too. */
static int add_score(const struct factor *f, const struct entry *entries,
                     const struct cell *cells, int32_t entry, int32_t v, double *sum)
{
    const struct cell *first;
    int32_t i, n;
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
    int32_t walked[AT_ONCE][MAX_LEVELS];
    const int32_t *answer[AT_ONCE];
    int n_walked[AT_ONCE], i, y;
    for (y = 0; y < N_CLASSES; ++y) joint[y] = log_prior[y];
    for (; first < last; first += AT_ONCE) {
        const struct factor *factors = net->factors + first;
        const int n = last - first < AT_ONCE ? last - first : AT_ONCE;
        walk_contexts(net, factors, n, codes, walked, n_walked);
        for (i = 0; i < n; ++i) {
            const struct factor *f = factors + i;
            const int32_t context = walked[i][n_walked[i] - 1];
            answer[i] = net->answers + (f->is_fixed ? f->entry + context * N_CLASSES : 0);
            if (f->is_fixed) PREFETCH(answer[i]);
            else PREFETCH(net->entries + f->entry + net->contexts[f->context + context].entry);
        }
        for (i = 0; i < n; ++i) {
            const struct factor *f = factors + i;
            const int32_t v = codes[f->column];
            for (y = 0; y < N_CLASSES && f->is_fixed && v >= 0; ++y)
                PREFETCH(net->fixed + f->cell + answer[i][y] + v);
        }
        for (i = 0; i < n; ++i) {
            const struct factor *f = factors + i;
            const int32_t v = codes[f->column];
            if (v < 0) continue;
            if (!f->is_fixed) {
                add_factor(net, f, walked[i], n_walked[i], v, joint);
                continue;
            }
            for (y = 0; y < N_CLASSES; ++y)
                joint[y] += (double)net->fixed[f->cell + answer[i][y] + v] * SCORE_UNIT;
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

/* Labels are codes already. */
static void copy_labels(const double *x, int32_t *codes)
{
    int i;
    for (i = 0; i < N_FEATURES; ++i) codes[i] = x[i] == x[i] && fabs(x[i]) < 1e9 ? (int32_t)x[i] : 0;
}

/* A number is how many cut points lie below it: a search without branches, which would often be
   guessed wrong. */
static void cut_numbers(const double *x, const int32_t *numeric, const int32_t *has_missing,
                        const int32_t *n_cuts, int n_numeric, const double *cuts, int32_t *codes)
{
    int i;
    for (i = 0; i < n_numeric; ++i) {
        const double number = x[numeric[i]];
        const double *first = cuts;
        int32_t n = n_cuts[i];
        while (n > 1) {
            const int32_t half = n / 2;
            first += first[half - 1] < number ? half : 0;
            n -= half;
        }
        if (n == 1) first += *first < number;
        codes[numeric[i]] =
            number == number ? (int32_t)(first - cuts) : has_missing[i] ? n_cuts[i] + 1 : -1;
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
    copy_labels(x, codes);
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
    copy_labels(x, codes);
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
