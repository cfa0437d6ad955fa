/* == hours == */

static double take_hour(double seconds)
{
    return (seconds - 86400.0 * floor(seconds / 86400.0)) / 3600.0;
}

/* == weekdays == */

/* The weekday from Monday, 0, on. */
static double take_weekday(double seconds)
{
    const double day = floor(seconds / 86400.0) + 3.0;
    return day - 7.0 * floor(day / 7.0);
}

/* == months == */

/* The month from January, 0, on. Years are taken to begin in March, so that leap days come last. */
static double take_month(double seconds)
{
    const double day = floor(seconds / 86400.0) + 719468.0;
    const double in_era = day - 146097.0 * floor(day / 146097.0);
    const double year = floor((in_era - floor(in_era / 1460.0) + floor(in_era / 36524.0)
        - floor(in_era / 146096.0)) / 365.0);
    const double in_year = in_era - (365.0 * year + floor(year / 4.0) - floor(year / 100.0));
    const double month = floor((5.0 * in_year + 2.0) / 153.0);
    return month < 10.0 ? month + 2.0 : month - 10.0;
}
