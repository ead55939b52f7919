"""Plan text → a Plan. Pure: texts come in, a plan with its findings comes out, and every complaint has file:line."""
