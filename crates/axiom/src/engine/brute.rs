//! The oracle: every candidate of the definitions, judged by `replay`. For tests, not for users.
