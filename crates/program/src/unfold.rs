//! Program to unfolding: symbolic execution of each thread, forking where a value decides.
