"""What is asked for and claimed, the noise, sensitivities and accountants."""
