"""The privacy of averages of records of one class plus Gaussian noise."""
