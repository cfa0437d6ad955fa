"""Memory, time and threads that a call may take."""
