"""What workers may know besides the code: sinks, linked repositories, documents, and what of it fits a task."""
