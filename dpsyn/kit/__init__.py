"""What forms and panels are made of: widgets, chart theme, words for the screen. It knows no mechanism."""
