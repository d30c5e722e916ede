"""What is wrong with a robots.txt, and how two of them differ. Pure."""
