"""Records of what was decided: ``REP_DECISION_LOG``."""
