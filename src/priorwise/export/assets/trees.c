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
