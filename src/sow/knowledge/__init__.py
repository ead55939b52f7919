"""Knowledge for workers besides the code: sinks, linked repositories, documents, and the choice of them for a task."""
