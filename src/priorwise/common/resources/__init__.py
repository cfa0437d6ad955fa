"""Memory, time, threads and packages that a call may take."""
