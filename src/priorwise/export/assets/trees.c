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

/* Ten trees take a step before any takes the next, so that their waits for memory overlap. The
   roots are the first nodes, and leaves alone have a negative child. */
static void add_trees(const struct ranked_node *nodes, int n_trees,
                      const float (*values)[N_CLASSES], const rank_t *ranks, double *sums)
{
    int32_t first, y;
    for (y = 0; y < N_CLASSES; ++y) sums[y] = 0.0;
    for (first = 0; first < n_trees; first += 10) {
        const int n = n_trees - first < 10 ? n_trees - first : 10;
        int32_t at[10], child = 0;
        int i;
        for (i = 0; i < 10; ++i) at[i] = first + (i < n ? i : 0);
        while (child >= 0) {
            at[0] = step_down(nodes, at[0], ranks);
            at[1] = step_down(nodes, at[1], ranks);
            at[2] = step_down(nodes, at[2], ranks);
            at[3] = step_down(nodes, at[3], ranks);
            at[4] = step_down(nodes, at[4], ranks);
            at[5] = step_down(nodes, at[5], ranks);
            at[6] = step_down(nodes, at[6], ranks);
            at[7] = step_down(nodes, at[7], ranks);
            at[8] = step_down(nodes, at[8], ranks);
            at[9] = step_down(nodes, at[9], ranks);
            child = nodes[at[0]].child & nodes[at[1]].child & nodes[at[2]].child
                    & nodes[at[3]].child & nodes[at[4]].child & nodes[at[5]].child
                    & nodes[at[6]].child & nodes[at[7]].child & nodes[at[8]].child
                    & nodes[at[9]].child;
        }
        for (i = 0; i < n; ++i) PREFETCH(values + ~nodes[at[i]].child);
        for (i = 0; i < n; ++i)
            for (y = 0; y < N_CLASSES; ++y) sums[y] += (double)values[~nodes[at[i]].child][y];
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
