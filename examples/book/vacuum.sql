-- A table that has just been filled: what the planner knows of it, and which rows everybody sees.
VACUUM ANALYZE bookv2;
