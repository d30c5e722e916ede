"""The drawings of the documentation, and the program that makes them."""
