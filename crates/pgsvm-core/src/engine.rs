//! Both roles in one process (skeleton).
