// How many tables the rows of a Pitman-Yor process take.
#pragma once

namespace priorwise {

// Mean and variance of the number of tables t of n rows whose distribution is S_a(n, t) x^t / Z,
// and log Z, for real n and a discount a > 0. Approximate: rows sit down one by one, and the third
// cumulant is taken to be that of 1 + a binomial number.
struct Seating {
    double mean;
    double variance;
    double log_z;
};
Seating seat_rows(double x, double n, double a);

}  // namespace priorwise
