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

/* == trees == */

/* A value that is less than the threshold, equal, missing or greater goes to the second child if
   bit 0, 1, 2 or 3 of `way` is set. A child is a node, or ~row of a leaf. */
struct node {
    double threshold;
    int32_t child[2], feature, way;
};

static int32_t next_node(const struct node *node, const double *x)
{
    const double value = x[node->feature];
    const int order = 2 * !(value <= node->threshold) + (value >= node->threshold);
    return node->child[node->way >> order & 1];
}

/* == hard trees == */

enum { TOGETHER = 8 };

/* Several trees take a step before any takes the next, so that their waits for memory overlap. */
static void add_trees(const struct node *nodes, const int32_t *root, int n_trees,
                      const float (*values)[N_CLASSES], const double *x, double *sums)
{
    int first, t, y;
    for (y = 0; y < N_CLASSES; ++y) sums[y] = 0.0;
    for (first = 0; first < n_trees; first += TOGETHER) {
        const int n = n_trees - first < TOGETHER ? n_trees - first : TOGETHER;
        int32_t at[TOGETHER];
        int n_walking;
        for (t = 0; t < n; ++t) at[t] = root[first + t];
        do {
            n_walking = 0;
            for (t = 0; t < n; ++t) {
                if (at[t] < 0) continue;
                at[t] = next_node(nodes + at[t], x);
                ++n_walking;
            }
        } while (n_walking > 0);
        for (t = 0; t < n; ++t)
            for (y = 0; y < N_CLASSES; ++y) sums[y] += (double)values[~at[t]][y];
    }
}

/* == soft tree == */

/* At a threshold with a bandwidth a row goes both ways, weighted by its distance to the threshold;
   the rows of the leaves are averaged. */
static void blend_tree(const struct node *nodes, const double *bandwidth, int32_t root,
                       const double (*values)[N_CLASSES], const double *x, double *sums)
{
    int32_t stack[SOFT_STACK];
    double weight[SOFT_STACK];
    int n_parts = 1, y;
    for (y = 0; y < N_CLASSES; ++y) sums[y] = 0.0;
    stack[0] = root;
    weight[0] = 1.0;
    while (n_parts > 0) {
        const int32_t node = stack[--n_parts];
        const double part = weight[n_parts];
        double distance, above;
        if (node < 0) {
            for (y = 0; y < N_CLASSES; ++y) sums[y] += part * values[~node][y];
            continue;
        }
        distance = x[nodes[node].feature] - nodes[node].threshold;
        if (!(bandwidth[node] > 0.0) || part < 1e-4 || distance != distance) {
            stack[n_parts] = next_node(nodes + node, x);
            weight[n_parts++] = part;
            continue;
        }
        above = 0.5 * erfc(-(distance / bandwidth[node]) / 1.4142135623730951);
        if (above >= 1e-6) {
            stack[n_parts] = nodes[node].child[1];
            weight[n_parts++] = part * (above > 1.0 - 1e-6 ? 1.0 : above);
        }
        if (above <= 1.0 - 1e-6) {
            stack[n_parts] = nodes[node].child[0];
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
   there, with scores of outcomes. A class without an entry has that of the context above; an
   outcome that an entry does not list has its `rest`. */
struct factor {
    int32_t column, n_outcomes, n_parents, is_dense, rest_towards_parent;
    int32_t path, context, start, entry, cell_start, outcome, cell;
};

struct networks {
    const struct factor *factors;
    const int32_t *path, *value, *child_start, *entry_start, *entry_class, *cell_start, *outcome;
    const float *rest, *score;
};

/* The place of a code among codes that rise: at most as far from the first as the code is. */
static int32_t find_code(const int32_t *codes, int32_t first, int32_t last, int32_t code)
{
    int32_t at;
    if (first == last || code < codes[first]) return -1;
    at = code - codes[first] < last - first ? first + (code - codes[first]) : last - 1;
    while (codes[at] > code) --at;
    return codes[at] == code ? at : -1;
}

/* Add the score of outcome v at an entry; return whether the entry above has a part in it too. */
static int add_score(const struct networks *net, const struct factor *f, int32_t entry, int32_t v,
                     double *sum)
{
    int32_t cell;
    if (f->is_dense) {
        *sum += (double)net->score[f->cell + entry * f->n_outcomes + v];
        return 0;
    }
    cell = find_code(net->outcome + f->outcome, net->cell_start[f->cell_start + entry],
                     net->cell_start[f->cell_start + entry + 1], v);
    *sum += (double)(cell >= 0 ? net->score[f->cell + cell] : net->rest[f->entry + entry]);
    return cell < 0 && f->rest_towards_parent;
}

/* From the deepest context that the row leads to, up to the first that answers for each class. */
static void add_factor(const struct networks *net, const struct factor *f, const int32_t *codes,
                       double *joint)
{
    const int32_t v = codes[f->column];
    const int32_t *child_start = net->child_start + f->start;
    const int32_t *entry_start = net->entry_start + f->start;
    int32_t contexts[MAX_LEVELS], e;
    int is_open[N_CLASSES];
    int level = 0, n_open = N_CLASSES, y;
    if (v < 0) return;
    for (contexts[0] = 0; level < f->n_parents; ++level) {
        const int32_t context = contexts[level];
        contexts[level + 1] =
            find_code(net->value + f->context, child_start[context], child_start[context + 1],
                      codes[net->path[f->path + level]]);
        if (contexts[level + 1] < 0) break;
    }
    for (y = 0; y < N_CLASSES; ++y) is_open[y] = 1;
    for (; level >= 0 && n_open > 0; --level) {
        const int32_t context = contexts[level];
        for (e = entry_start[context + 1] - 1; e >= entry_start[context] && e > 0; --e) {
            y = net->entry_class[f->entry + e];
            if (!is_open[y]) continue;
            is_open[y] = add_score(net, f, e, v, joint + y);
            n_open -= !is_open[y];
        }
    }
    for (y = 0; y < N_CLASSES && n_open > 0; ++y)
        if (is_open[y]) add_score(net, f, 0, v, joint + y);
}

static void find_joint(const struct networks *net, int first, int last, const double *log_prior,
                       const int32_t *codes, double *joint)
{
    int f, y;
    for (y = 0; y < N_CLASSES; ++y) joint[y] = log_prior[y];
    for (f = first; f < last; ++f) add_factor(net, net->factors + f, codes, joint);
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
