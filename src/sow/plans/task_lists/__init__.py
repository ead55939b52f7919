"""Reads task lists of spec-kit, Task Master and Backlog.md, and says where their statuses are."""
