"""What is wrong with a robots.txt, and what difference two of them make. Pure."""
