"""The comparison lab: experiments that run in the background, what they found, and the workspace that keeps them."""
