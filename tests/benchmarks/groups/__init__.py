"""One module for each group of benchmarks; importing it registers its cases."""
