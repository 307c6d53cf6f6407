"""What is drawn: a model of plots and paintings in plain data, and what draws it as SVG and PNG."""
