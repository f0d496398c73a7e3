"""What several pages need: the visit, its jobs, links, lessons, the comparison lab."""
