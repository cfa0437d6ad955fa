"""What every layer uses: checks of arguments, progress, deadlines and numeric helpers."""
