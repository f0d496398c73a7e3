"""Reading tables, the statistics the theorems ask for, and bundled samples. Names are imported from the modules."""
