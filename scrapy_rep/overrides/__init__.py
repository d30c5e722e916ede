"""The operator's exceptions for single authorities: ``REP_OVERRIDES``."""
