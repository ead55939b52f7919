"""The site that hosts a repository, GitHub or GitLab, through the user's own `gh` or `glab`."""
