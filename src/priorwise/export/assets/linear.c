/* == standardise == */

static double standardise(double number, double mean, double scale, double most)
{
    const double z = (number - mean) / scale;
    return z != z ? 0.0 : z > most ? most : z < -most ? -most : z;
}

/* == logarithm == */

static double take_log(double number, double sign, double shift, double least)
{
    const double argument = shift + sign * number;
    return sign * log(argument < least ? least : argument);
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

/* == landmarks == */

/* Weighted sums of the likeness to landmarks, exp(-rate d^2): codes and values have a row for each landmark. */
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

/* == quadratic forms == */

/* The form of a class, or the one that labels of parents lead to from it on. */
static int32_t choose_form(const double *x, int32_t g, const int32_t *parents, int n_parents,
                             const int32_t *n_labels, const int32_t *first_form,
                             const int32_t *first_child, const int32_t *child)
{
    int l;
    for (l = 0; l < n_parents; ++l) {
        const double code = x[parents[l]];
        int32_t next;
        if (!(code >= 0.0 && code < n_labels[l])) break;
        next = child[first_child[l] + (g - first_form[l]) * n_labels[l] + (int32_t)code];
        if (next < 0) break;
        g = next;
    }
    return g;
}

/* The quadratic form of the numbers' steps from a centre, by the lower half of its matrix. */
static double find_form(const double *z, int n, const double *centre, const double *form,
                        double *step)
{
    double sum = 0.0;
    int i, j;
    for (i = 0; i < n; ++i) {
        double part = 0.0;
        step[i] = z[i] - centre[i];
        for (j = 0; j <= i; ++j) part += step[j] * *form++;
        sum += step[i] * part;
    }
    return sum;
}

/* == pool == */

static void add_member(const double *proba, double weight, double least, double *scores)
{
    int y;
    for (y = 0; y < N_CLASSES; ++y)
        scores[y] += weight * log(proba[y] > least ? proba[y] : least);
}
