"""Tests of reading plan files.

- the form of a file, its headings, fences and texts: markdown/test_reader
- labels, lists, commands, criteria: markdown/test_field_labels; their values: test_values, test_dependencies
- tasks in YAML, their types, and YAML itself: test_yaml_plan
- frontmatter, agents, limits, quality control: test_settings
- several files and folders: test_several_files
- errors and warnings about the whole, and shared files: test_checks
- waves, cycles, the critical path, schedules: tests/domain/plans/test_graph
- whole plans with all parsed fields: test_fixtures
- any plan in any form: test_round_trip; no word is dropped: test_nothing_lost
- no text is a crash: test_fuzz, and S4 and S5 among the guarantees; large plans: test_large
- statuses written back: test_write_back, test_write_back_forms
"""
