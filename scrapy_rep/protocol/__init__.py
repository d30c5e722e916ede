"""The Robots Exclusion Protocol and nothing else: octets and numbers in, values out."""
