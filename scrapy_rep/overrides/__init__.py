"""What the operator decides for single authorities: ``REP_OVERRIDES``."""
