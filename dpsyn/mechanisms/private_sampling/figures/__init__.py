"""Pictures of what private sampling does inside: for each one a function that makes its data, and one that draws them."""
